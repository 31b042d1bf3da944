# A method: its environment, the worker and the method's folder.
ARG ENVIRONMENT
FROM ${ENVIRONMENT}
LABEL mdbench=1
COPY mdbench/ /mdbench/
# As in the environment; a file that is no valid Python is reported when it is imported.
RUN python3 -I -S -m compileall -q --invalidation-mode unchecked-hash /mdbench || true
