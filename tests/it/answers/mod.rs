//! Answers say what is true: what a hit shows is what matched, what is proposed is there, what was not understood is said.

mod misread;
mod pages;
mod proposed;
mod shown;
mod told;
