//! A fit of 1, each variable, and all their squares and products: a method without Python, which
//! speaks mdbench's protocol (docs/other-languages.md).
//!
//! It reads its order from job.json and arrays from .npz files in its working directory, and answers
//! the host's messages on its standard streams, a line of JSON each.  No crate is needed.

use std::fmt::Display;
use std::io::{stdin, stdout, BufRead, Write};
use std::{fs, process};

/// Send a message of a type about a job; `more` has its other keys.
fn send(kind: &str, job: &str, more: &str) {
    println!("{{\"type\":\"{kind}\",\"job\":{job},{more}}}");
    stdout().flush().expect("the host is there"); // else the line stays in a buffer
}

/// Say why the job cannot be done, and end.
fn fail(job: &str, kind: &str, why: impl Display) -> ! {
    send("failed", job, &format!("\"kind\":\"{kind}\",\"error\":\"{why}\""));
    process::exit(0)
}

// ---- JSON: enough to find a key of an object, and the texts of a list ----

/// Return how many bytes the value at the start of a text has.
fn value_length(text: &str) -> usize {
    let (mut depth, mut in_text, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            if !in_text && depth == 0 {
                return at + 1;
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + depth,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

/// Return the values of a list, or the keys and values of an object, as they are written.
fn values(text: &str) -> Vec<&str> {
    let mut rest = text.trim()[1..].trim_start();
    let mut values = Vec::new();
    while !rest.is_empty() && !rest.starts_with([']', '}']) {
        let (value, after) = rest.split_at(value_length(rest));
        values.push(value.trim());
        rest = after.trim_start().trim_start_matches([',', ':']).trim_start();
    }
    values
}

/// Return the value of a key of an object.
fn value_of<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let pairs = values(object);
    let pair = pairs.chunks(2).find(|pair| pair[0].trim_matches('"') == key)?;
    pair.get(1).copied()
}

// ---- arrays: .npz is a zip archive of .npy files that are stored as they are ----

struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>, // row by row
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let digits = bytes.get(at..at + length)?;
    Some(digits.iter().rev().fold(0, |sum, byte| sum << 8 | *byte as usize))
}

/// Find an array of an archive by its central directory, and read it.
fn read_array(archive: &str, name: &str) -> Option<Matrix> {
    let zip = fs::read(archive).ok()?;
    let end = zip.windows(4).rposition(|word| word == b"PK\x05\x06")?;
    let mut at = number(&zip, end + 16, 4)?;
    for _ in 0..number(&zip, end + 10, 2)? {
        let length = number(&zip, at + 28, 2)?;
        if &zip[at + 46..at + 46 + length] == name.as_bytes() {
            let local = number(&zip, at + 42, 4)?;
            let data = local + 30 + number(&zip, local + 26, 2)? + number(&zip, local + 28, 2)?;
            return read_npy(zip.get(data..data + number(&zip, at + 24, 4)?)?);
        }
        at += 46 + length + number(&zip, at + 30, 2)? + number(&zip, at + 32, 2)?;
    }
    None
}

fn read_npy(npy: &[u8]) -> Option<Matrix> {
    let (begin, digits) = if npy[6] == 1 { (10, 2) } else { (12, 4) };
    let data = begin + number(npy, 8, digits)?;
    let header = std::str::from_utf8(&npy[begin..data]).ok()?;
    let shape = header.split("'shape': (").nth(1)?.split(')').next()?;
    let sizes: Vec<usize> = shape.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    let (rows, columns) = (sizes[0], *sizes.get(1).unwrap_or(&1));
    let stored: Vec<f64> = npy[data..]
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        .collect();
    if !header.contains("'<f8'") || stored.len() != rows * columns {
        return None;
    }
    let by_columns = header.contains("'fortran_order': True");
    let index = |i: usize| if by_columns { i % columns * rows + i / columns } else { i };
    let values = (0..rows * columns).map(|i| stored[index(i)]).collect();
    Some(Matrix { rows, columns, values })
}

fn write_array(name: &str, matrix: &Matrix) -> std::io::Result<()> {
    let shape = format!("({}, {})", matrix.rows, matrix.columns);
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec(); // 118 bytes of header follow
    bytes.extend(format!("{header:117}\n").bytes());
    bytes.extend(matrix.values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(name, bytes)
}

// ---- the method ----

/// Return the terms: by the numbers of their variables; none, one or two.
fn terms(variables: usize) -> Vec<Vec<usize>> {
    let pairs = (0..variables).flat_map(|i| (i..variables).map(move |j| vec![i, j]));
    let singles = (0..variables).map(|i| vec![i]);
    std::iter::once(Vec::new()).chain(singles).chain(pairs).collect()
}

/// Return the values of all terms, a row for each row of the inputs.
fn features(x: &Matrix) -> Vec<Vec<f64>> {
    let terms = terms(x.columns);
    let rows = x.values.chunks(x.columns);
    rows.map(|row| terms.iter().map(|term| term.iter().map(|i| row[*i]).product()).collect())
        .collect()
}

/// Solve least squares by Gram-Schmidt, twice for each column; columns that others give get 0.
fn least_squares(rows: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let size = rows.first().map_or(0, Vec::len);
    let mut basis: Vec<Option<Vec<f64>>> = Vec::new();
    let mut triangle = vec![vec![0.0; size]; size];
    for j in 0..size {
        let mut column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
        let whole = dot(&column, &column).sqrt();
        for (k, direction) in basis.iter().enumerate().chain(basis.iter().enumerate()) {
            if let Some(direction) = direction {
                let part = dot(direction, &column);
                triangle[k][j] += part;
                column.iter_mut().zip(direction).for_each(|(value, d)| *value -= part * d);
            }
        }
        triangle[j][j] = dot(&column, &column).sqrt();
        let is_new = triangle[j][j] > 1e-10 * whole;
        basis.push(is_new.then(|| column.iter().map(|value| value / triangle[j][j]).collect()));
    }
    let mut coefficients = vec![0.0; size];
    for j in (0..size).rev() {
        if let Some(direction) = &basis[j] {
            let later: f64 = (j + 1..size).map(|k| triangle[j][k] * coefficients[k]).sum();
            coefficients[j] = (dot(direction, y) - later) / triangle[j][j];
        }
    }
    coefficients
}

/// Return an equation with all digits; Rust prints as many as tell a number from all others.
fn equation(coefficients: &[f64], variables: &[&str]) -> String {
    let texts = terms(variables.len()).into_iter().zip(coefficients).map(|(term, value)| {
        let names = term.iter().map(|i| format!("*{}", variables[*i]));
        format!("({value:e}){}", names.collect::<String>())
    });
    texts.collect::<Vec<_>>().join(" + ")
}

fn main() {
    let order = fs::read_to_string("job.json").unwrap_or_else(|_| String::from("{}"));
    let job = value_of(&order, "job").unwrap_or("\"\"");
    if value_of(&order, "hyperparameters").map(values) != Some(Vec::new()) {
        fail(job, "failed", "it has no hyperparameters");
    }
    let read = |archive: &str, name: &str| {
        read_array(archive, name).unwrap_or_else(|| fail(job, "failed", "an array cannot be read"))
    };
    let (x, y) = (read("train.npz", "X.npy"), read("train.npz", "Y.npy"));
    if !x.values.iter().chain(&y.values).all(|value| value.is_finite()) {
        fail(job, "unsupported", "the data have values that are no numbers");
    }
    let list = value_of(&order, "variables").map(values).unwrap_or_default();
    let variables: Vec<&str> = list.iter().map(|name| name.trim_matches('"')).collect();
    let rows = features(&x);
    let fits: Vec<Vec<f64>> = (0..y.columns)
        .map(|target| {
            let column: Vec<f64> = y.values.chunks(y.columns).map(|row| row[target]).collect();
            least_squares(&rows, &column)
        })
        .collect();
    let no_more = "\"seconds\":0,\"stopped_early\":false,\"evaluations\":null,\"failed\":0";
    send("fitted", job, &format!("{no_more},\"failure\":\"\""));
    for line in stdin().lock().lines().map_while(Result::ok) {
        match value_of(&line, "type") {
            Some("\"describe\"") => {
                let texts = fits.iter().map(|fit| format!("\"{}\"", equation(fit, &variables)));
                let list = texts.collect::<Vec<_>>().join(",");
                send("described", job, &format!("\"equations\":[{list}]"));
            }
            Some("\"predict\"") => {
                let predict = |row: &Vec<f64>, fit: &Vec<f64>| -> f64 {
                    row.iter().zip(fit).map(|(value, coefficient)| value * coefficient).sum()
                };
                let rows = features(&read("test.npz", "X.npy"));
                let values =
                    rows.iter().flat_map(|row| fits.iter().map(move |fit| predict(row, fit)));
                let made =
                    Matrix { rows: rows.len(), columns: fits.len(), values: values.collect() };
                if let Err(error) = write_array("predictions.npy", &made) {
                    fail(job, "failed", error);
                }
                send("predicted", job, "\"predictions\":\"predictions.npy\",\"seconds\":0");
                return;
            }
            _ => fail(job, "failed", "a message that is not expected"),
        }
    }
}
