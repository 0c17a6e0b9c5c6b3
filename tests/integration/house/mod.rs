//! What holds for the project's own sources: layers, cycles, folders.

mod benches;
mod cycles;
mod folders;
mod graph;
mod known_cycles;
mod layers;
mod module_tree;
mod source;
