//! Rendering fixed records: golden text and the names of the JSON contract.

mod audits;
mod beside;
mod contract;
mod fixtures;
mod golden;
mod hostile;
mod page;
mod pages;
mod pools;
mod promises;
mod series;
