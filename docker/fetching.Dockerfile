# On a method's environment: what its own program fetches, such as a compiler that no index of
# Python's has.  Only the folder that it fills is kept, so that neither an authority nor a cache is
# left in the image.  The labels' values are filled in for each build.
ARG ENVIRONMENT

FROM ${ENVIRONMENT} AS fetched
LABEL mdbench.stage=1
USER root
COPY fetch/ /fetch/
RUN if [ -s /fetch/ca.pem ]; then \
        export SSL_CERT_FILE=/fetch/ca.pem JULIA_SSL_CA_ROOTS_PATH=/fetch/ca.pem; \
    fi \
    && mkdir -p /opt/env/fetched \
    && HOME=/tmp /opt/env/bin/python -B /fetch/program.py \
    && chmod -R a+rX /opt/env/fetched

FROM ${ENVIRONMENT}
COPY --from=fetched /opt/env/fetched/ /opt/env/fetched/
LABEL mdbench=1
