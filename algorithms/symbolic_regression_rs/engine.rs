//! A search by symbolic_regression.rs: the table from standard input, fronts to standard output.
//!
//! Arguments are `name=value`. The table is the number of rows and of variables (u64), the
//! variables one after the other, and the target (f64), little-endian. After each cycle of a
//! population its line is written: `evaluations N`; before it a line for each new member of the
//! front, `LOSS EQUATION`. The search has one thread, so that a seed gives one result.

use std::collections::HashSet;
use std::io::{self, Read, Write};

use ndarray::{Array1, Array2};
use symbolic_regression::prelude::*;
use symbolic_regression::SearchEngine;

const ARITY: usize = 2;

fn names(text: &str) -> Vec<&str> {
    text.split(',').filter(|name| !name.is_empty()).collect()
}

fn number<N: std::str::FromStr>(name: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{name} is {text}; it must be a number of its kind"))
}

fn options() -> Result<Options<f64, ARITY>, String> {
    let mut options = Options::<f64, ARITY> { progress: false, ..Default::default() };
    let (mut unary, mut binary) = (String::new(), String::new());
    for argument in std::env::args().skip(1) {
        let (name, text) = argument.split_once('=').ok_or("arguments are name=value")?;
        match name {
            "unary_operators" => unary = text.to_string(),
            "binary_operators" => binary = text.to_string(),
            "seed" => options.seed = number(name, text)?,
            "niterations" => options.niterations = number(name, text)?,
            "populations" => options.populations = number(name, text)?,
            "population_size" => options.population_size = number(name, text)?,
            "ncycles_per_iteration" => options.ncycles_per_iteration = number(name, text)?,
            "maxsize" => options.maxsize = number(name, text)?,
            "maxdepth" => options.maxdepth = number(name, text)?,
            "parsimony" => options.parsimony = number(name, text)?,
            "batching" => options.batching = number(name, text)?,
            "batch_size" => options.batch_size = number(name, text)?,
            _ => return Err(format!("there is no setting {name}")),
        }
    }
    options.operators = Operators::<ARITY>::from_names_by_arity::<BuiltinOpsF64>(
        &names(&unary),
        &names(&binary),
        &[],
    )
    .map_err(|error| error.to_string())?;
    Ok(options)
}

fn table() -> Result<Dataset<f64>, String> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let words: Vec<[u8; 8]> =
        bytes.chunks_exact(8).map(|word| word.try_into().expect("eight bytes")).collect();
    let [rows, columns, numbers @ ..] = words.as_slice() else {
        return Err("the table is cut".to_string());
    };
    let (rows, columns) = (u64::from_le_bytes(*rows) as usize, u64::from_le_bytes(*columns) as usize);
    let mut numbers: Vec<f64> = numbers.iter().map(|word| f64::from_le_bytes(*word)).collect();
    if numbers.len() != rows * (columns + 1) {
        return Err("the table is cut".to_string());
    }
    let target = Array1::from(numbers.split_off(rows * columns));
    let variables = Array2::from_shape_vec((columns, rows), numbers).map_err(|e| e.to_string())?;
    Ok(Dataset::new(variables, target))
}

fn search() -> Result<(), String> {
    let (dataset, options) = (table()?, options()?);
    let mut engine = SearchEngine::<f64, BuiltinOpsF64, ARITY>::new(dataset, options);
    let mut written = HashSet::new();
    let mut output = io::stdout().lock();
    while engine.step(1) == 1 {
        for member in engine.hall_of_fame().pareto_front() {
            let equation = member.expr.to_string();
            if written.insert(equation.clone()) {
                writeln!(output, "{:e} {equation}", member.loss).map_err(|e| e.to_string())?;
            }
        }
        writeln!(output, "evaluations {}", engine.total_evals()).map_err(|e| e.to_string())?;
        output.flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn main() {
    if let Err(error) = search() {
        eprintln!("{error}");
        std::process::exit(2);
    }
}
