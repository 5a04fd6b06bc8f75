//! The search for a capacity against servers and machines that are not as they should be, and any outcomes at all. Against
//! noise, and beside other searches, it is calibrated in the lab.

mod behaviour;
mod properties;
