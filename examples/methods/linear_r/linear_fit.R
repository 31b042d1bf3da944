# A linear fit: a method in R, which speaks mdbench's protocol (docs/adding-a-method.md).
# It needs the package jsonlite (on Debian and Ubuntu: apt install r-base-core r-cran-jsonlite).

suppressPackageStartupMessages(library(jsonlite))

order <- fromJSON("job.json", simplifyVector = FALSE)
host <- file("stdin", "r")

send <- function(type, ...) {
  message <- c(list(type = type, job = order$job), list(...))
  cat(toJSON(message, auto_unbox = TRUE, null = "null", digits = NA), "\n", sep = "")
  flush(stdout())
}

refuse <- function(kind, why) {
  send("failed", kind = kind, error = why)
  quit(status = 0)
}

# Read one array of numbers of an .npz archive, as a matrix.
read_array <- function(archive, name) {
  stream <- unz(archive, paste0(name, ".npy"), open = "rb")
  on.exit(close(stream))
  start <- readBin(stream, "raw", 8)
  wide <- if (as.integer(start[7]) == 1) 2 else 4
  length <- readBin(stream, "integer", 1, size = wide, signed = wide > 2, endian = "little")
  header <- rawToChar(readBin(stream, "raw", length))
  if (!grepl("'<f8'", header, fixed = TRUE)) refuse("failed", paste(name, "is not of float64"))
  shape <- sub(".*'shape': \\(([0-9, ]*)\\).*", "\\1", header)
  shape <- as.numeric(Filter(nzchar, strsplit(shape, "[, ]+")[[1]]))
  values <- readBin(stream, "double", prod(shape), size = 8, endian = "little")
  by_columns <- grepl("'fortran_order': True", header, fixed = TRUE)
  matrix(values, nrow = shape[1], byrow = !by_columns)
}

write_array <- function(file, values) {
  header <- sprintf("{'descr': '<f8', 'fortran_order': True, 'shape': (%d, %d), }",
                    nrow(values), ncol(values))
  header <- paste0(formatC(header, width = -117), "\n")
  stream <- file(file, "wb")
  writeBin(as.raw(c(0x93, utf8ToInt("NUMPY"), 1, 0)), stream)
  writeBin(118L, stream, size = 2, endian = "little")
  writeBin(charToRaw(header), stream)
  writeBin(as.double(values), stream, endian = "little")
  close(stream)
}

if (length(order$hyperparameters) > 0) refuse("failed", "it has no hyperparameters")
x <- read_array("train.npz", "X")
y <- read_array("train.npz", "Y")
if (!all(is.finite(x), is.finite(y))) refuse("unsupported", "the data have values that are no numbers")

began <- proc.time()[["elapsed"]]
coefficients <- as.matrix(lm.fit(cbind(1, x), y)$coefficients)
coefficients[is.na(coefficients)] <- 0
seconds <- proc.time()[["elapsed"]] - began
send("fitted", seconds = seconds, stopped_early = FALSE, evaluations = NULL, failed = 0,
     failure = "")

while (length(line <- readLines(host, n = 1)) > 0) {
  type <- fromJSON(line)$type
  if (type == "describe") {
    terms <- c("1", unlist(order$variables))
    equations <- apply(coefficients, 2, function(column) {
      paste(sprintf("(%.17g)*%s", column, terms)[column != 0 | terms == "1"], collapse = " + ")
    })
    send("described", equations = as.list(equations))
  } else if (type == "predict") {
    write_array("predictions.npy", cbind(1, read_array("test.npz", "X")) %*% coefficients)
    send("predicted", predictions = "predictions.npy", seconds = 0)
    break
  }
}
