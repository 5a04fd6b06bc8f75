//! Rendering fixed records: golden text and the names of the JSON contract.

mod agents;
mod audits;
mod beside;
mod capacities;
mod capacity;
mod compare;
mod comparisons;
mod contract;
mod experiment;
mod experiments;
mod fixtures;
mod forms;
mod golden;
mod histories;
mod history;
mod hostile;
mod page;
mod pages;
mod paper;
mod pools;
mod promises;
mod render;
mod renders;
mod series;
mod tabulate;
mod thresholds;
