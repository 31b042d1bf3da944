/* A linear fit: a method without Python, which speaks mdbench's protocol (docs/adding-a-method.md).
 *
 * It reads its order from job.json and arrays from .npz files in its working directory, and answers
 * the host's messages on its standard streams, a line of JSON each.  C and libm are all it needs.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *job = "\"\""; /* the name of the job, as it is written in JSON */

/* Report that the job cannot be done, and end. */
static void fail(const char *kind, const char *why) {
  printf("{\"type\":\"failed\",\"job\":%s,\"kind\":\"%s\",\"error\":\"%s\"}\n", job, kind, why);
  fflush(stdout);
  exit(0);
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (memory == NULL) fail("out_of_memory", "malloc");
  return memory;
}

/* ---- files ---- */

static unsigned char *read_file(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail("failed", "a file cannot be read");
  long length = ftell(file);
  rewind(file);
  unsigned char *content = allocate((size_t)length + 1, 1);
  *size = fread(content, 1, (size_t)length, file);
  fclose(file);
  return content;
}

/* ---- JSON: enough to find a key of an object, and the texts of a list ---- */

static const char *skip_blanks(const char *at) {
  while (*at && strchr(" \t\r\n", *at)) at++;
  return at;
}

static const char *skip_text(const char *at) {
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : at;
}

/* Return what follows a value, whatever it is. */
static const char *skip_value(const char *at) {
  int depth = 0;
  do {
    at = skip_blanks(at);
    if (*at == '"') {
      at = skip_text(at);
    } else if (*at == '{' || *at == '[') {
      depth++, at++;
    } else if (*at == '}' || *at == ']') {
      depth--, at++;
    } else if (depth && (*at == ',' || *at == ':')) {
      at++;
    } else {
      while (*at && !strchr(",:]} \t\r\n", *at)) at++;
    }
  } while (*at && depth > 0);
  return at;
}

/* Return the value of a key of an object; NULL if it has no such key. */
static const char *value_of(const char *object, const char *key) {
  const char *at = skip_blanks(skip_blanks(object) + 1);
  while (*at == '"') {
    const char *name = at + 1;
    at = skip_text(at);
    int found = (size_t)(at - 1 - name) == strlen(key) && !strncmp(name, key, strlen(key));
    at = skip_blanks(skip_blanks(at) + 1); /* over the colon */
    if (found) return at;
    at = skip_blanks(skip_value(at));
    if (*at == ',') at = skip_blanks(at + 1);
  }
  return NULL;
}

static char *copy(const char *from, const char *to) {
  char *text = allocate((size_t)(to - from) + 1, 1);
  return memcpy(text, from, (size_t)(to - from));
}

/* Return the texts of a list as they are written, without their quotes; sets their number. */
static char **texts_of(const char *list, int *count) {
  char **texts = NULL;
  *count = 0;
  for (const char *at = skip_blanks(list + 1); *at == '"'; at = skip_blanks(at)) {
    const char *end = skip_text(at);
    texts = realloc(texts, sizeof *texts * (size_t)(*count + 1));
    if (texts == NULL) fail("out_of_memory", "malloc");
    texts[(*count)++] = copy(at + 1, end - 1);
    at = skip_blanks(end);
    if (*at == ',') at++;
  }
  return texts;
}

/* ---- arrays: .npz is a zip archive of .npy files that are stored as they are ---- */

typedef struct {
  size_t rows, columns;
  double *values; /* row by row */
} Matrix;

static uint32_t number(const unsigned char *at, int bytes) {
  uint32_t value = 0;
  while (bytes--) value = value << 8 | at[bytes];
  return value;
}

static Matrix read_npy(const unsigned char *npy, size_t size) {
  size_t begin = npy[6] == 1 ? 10 : 12;
  size_t length = number(npy + 8, npy[6] == 1 ? 2 : 4);
  if (begin + length > size) fail("failed", "an array is cut short");
  char *header = copy((const char *)npy + begin, (const char *)npy + begin + length);
  const char *shape = strstr(header, "'shape': (");
  if (shape == NULL || !strstr(header, "'<f8'")) fail("failed", "an array is not of float64");
  Matrix m = {0, 1, NULL};
  char *next;
  m.rows = strtoul(shape + strlen("'shape': ("), &next, 10);
  if (next[0] == ',' && next[1] == ' ') m.columns = strtoul(next + 1, NULL, 10);
  size_t count = m.rows * m.columns;
  if (begin + length + count * sizeof(double) > size) fail("failed", "an array is cut short");
  const unsigned char *data = npy + begin + length;
  int by_columns = strstr(header, "'fortran_order': True") != NULL;
  m.values = allocate(count, sizeof(double));
  for (size_t i = 0; i < count; i++) {
    size_t to = by_columns ? i % m.rows * m.columns + i / m.rows : i;
    memcpy(m.values + to, data + i * sizeof(double), sizeof(double));
    if (!isfinite(m.values[to])) fail("unsupported", "the data have values that are no numbers");
  }
  free(header);
  return m;
}

/* Read one array of an archive by its central directory. */
static Matrix read_array(const char *archive, const char *name) {
  size_t size;
  unsigned char *zip = read_file(archive, &size);
  size_t end = size < 22 ? 0 : size - 22;
  while (end > 0 && number(zip + end, 4) != 0x06054b50) end--;
  uint32_t entries = end ? number(zip + end + 10, 2) : 0;
  size_t at = end ? number(zip + end + 16, 4) : 0;
  for (; entries > 0 && at + 46 < size; entries--) {
    uint32_t name_length = number(zip + at + 28, 2), length = number(zip + at + 24, 4);
    if (name_length == strlen(name) && !memcmp(zip + at + 46, name, name_length)) {
      size_t local = number(zip + at + 42, 4);
      size_t data = local + 30 + number(zip + local + 26, 2) + number(zip + local + 28, 2);
      if (number(zip + at + 10, 2) != 0 || data + length > size)
        fail("failed", "an archive cannot be read");
      Matrix found = read_npy(zip + data, length);
      free(zip);
      return found;
    }
    at += 46 + name_length + number(zip + at + 30, 2) + number(zip + at + 32, 2);
  }
  fail("failed", "an array is missing");
  return (Matrix){0, 0, NULL};
}

static void write_array(const char *name, Matrix m) {
  FILE *file = fopen(name, "wb");
  if (file == NULL) fail("failed", "the predictions cannot be written");
  char header[118 + 1];
  char text[118];
  snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }",
           m.rows, m.columns);
  snprintf(header, sizeof header, "%-117s\n", text);
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* 118 bytes of header follow */
  fwrite(header, 1, 118, file);
  fwrite(m.values, sizeof(double), m.rows * m.columns, file);
  if (fclose(file) != 0) fail("failed", "the predictions cannot be written");
}

/* ---- the method ---- */

/* Solve least squares by Householder reflections, for all targets at once.
 *
 * The columns of the inputs are 1 and those of x.  Column j of the result, (1 + x.columns) long, has
 * the coefficients of target j; a column of the inputs that others give has the coefficient 0. */
static Matrix least_squares(Matrix x, Matrix y) {
  size_t n = x.rows, p = x.columns + 1, k = y.columns;
  double *a = allocate(n * p, sizeof(double)), *b = allocate(n * k, sizeof(double));
  Matrix c = {p, k, allocate(p * k, sizeof(double))};
  int *kept = allocate(p, sizeof(int));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < p; j++) a[i * p + j] = j ? x.values[i * x.columns + j - 1] : 1.0;
  memcpy(b, y.values, n * k * sizeof(double));
  size_t row = 0;
  for (size_t j = 0; j < p && row < n; j++) {
    double whole = 0.0, norm = 0.0;
    for (size_t i = 0; i < n; i++) {
      whole = hypot(whole, a[i * p + j]);
      if (i >= row) norm = hypot(norm, a[i * p + j]);
    }
    kept[j] = norm > 1e-12 * whole;
    if (!kept[j]) continue;
    double *v = allocate(n, sizeof(double)), length = 0.0;
    for (size_t i = row; i < n; i++) v[i] = a[i * p + j] / norm;
    v[row] += v[row] < 0 ? -1.0 : 1.0;
    for (size_t i = row; i < n; i++) length += v[i] * v[i];
    for (size_t column = 0; column < p + k; column++) {
      double *of = column < p ? a + column : b + column - p, dot = 0.0;
      size_t step = column < p ? p : k;
      for (size_t i = row; i < n; i++) dot += v[i] * of[i * step];
      for (size_t i = row; i < n; i++) of[i * step] -= 2.0 * dot / length * v[i];
    }
    free(v);
    kept[j] = (int)++row; /* 1 + its row */
  }
  for (size_t j = p; j-- > 0;) {
    if (!kept[j]) continue;
    size_t of = (size_t)kept[j] - 1;
    for (size_t target = 0; target < k; target++) {
      double sum = b[of * k + target];
      for (size_t other = j + 1; other < p; other++)
        sum -= a[of * p + other] * c.values[other * k + target];
      c.values[j * k + target] = sum / a[of * p + j];
    }
  }
  free(a), free(b), free(kept);
  return c;
}

static Matrix predict(Matrix x, Matrix c) {
  Matrix y = {x.rows, c.columns, allocate(x.rows * c.columns, sizeof(double))};
  for (size_t i = 0; i < y.rows; i++)
    for (size_t target = 0; target < y.columns; target++) {
      double sum = c.values[target];
      for (size_t j = 0; j < x.columns; j++)
        sum += c.values[(j + 1) * c.columns + target] * x.values[i * x.columns + j];
      y.values[i * y.columns + target] = sum;
    }
  return y;
}

static void describe(Matrix c, char **variables) {
  printf("{\"type\":\"described\",\"job\":%s,\"equations\":[", job);
  for (size_t target = 0; target < c.columns; target++) {
    printf("%s\"%.17g", target ? "," : "", c.values[target]);
    for (size_t j = 1; j < c.rows; j++)
      if (c.values[j * c.columns + target] != 0.0)
        printf(" + (%.17g)*%s", c.values[j * c.columns + target], variables[j - 1]);
    printf("\"");
  }
  printf("]}\n");
}

int main(void) {
  size_t size;
  const char *order = (const char *)read_file("job.json", &size);
  const char *name = value_of(order, "job"), *settings = value_of(order, "hyperparameters");
  if (name == NULL || settings == NULL) fail("failed", "job.json cannot be read");
  job = copy(name, skip_text(name));
  if (*skip_blanks(settings + 1) != '}') fail("failed", "it has no hyperparameters");
  int count;
  char **variables = texts_of(value_of(order, "variables"), &count);
  Matrix x = read_array("train.npz", "X.npy");
  Matrix coefficients = least_squares(x, read_array("train.npz", "Y.npy"));
  printf("{\"type\":\"fitted\",\"job\":%s,\"seconds\":0,\"stopped_early\":false,"
         "\"evaluations\":null,\"failed\":0,\"failure\":\"\"}\n", job);
  fflush(stdout);
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    const char *type = value_of(line, "type");
    if (type != NULL && !strncmp(type, "\"describe\"", 10)) {
      describe(coefficients, variables);
    } else if (type != NULL && !strncmp(type, "\"predict\"", 9)) {
      write_array("predictions.npy", predict(read_array("test.npz", "X.npy"), coefficients));
      printf("{\"type\":\"predicted\",\"job\":%s,\"predictions\":\"predictions.npy\","
             "\"seconds\":0}\n", job);
      fflush(stdout);
      return 0;
    } else {
      fail("failed", "a message that is not expected");
    }
    fflush(stdout);
  }
  return 0;
}
