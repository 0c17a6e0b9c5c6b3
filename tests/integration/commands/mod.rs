//! One file for each command, except those that scan.

mod audit;
mod backup;
mod diff;
mod errors;
mod export;
mod find;
mod folders;
mod forget;
mod generate;
mod history;
mod html;
mod links;
mod purge;
mod report;
mod roots;
mod status;
mod unique;
mod verify;
