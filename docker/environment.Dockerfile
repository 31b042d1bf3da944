# A method's environment: /opt/env, made from wheels that the host has fetched.
# Nothing here asks an index, so no setting of pip enters the build.  Taken by BuildKit and by
# the builder before it: no RUN --mount.
ARG BASE_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE} AS wheels
ARG BUILD
LABEL mdbench.stage=${BUILD}
USER root
COPY requirements.lock /requirements.lock
COPY wheels/ /wheels/
# pip stays outside of the environment, which holds what the lock says and nothing else.
RUN python3 -m venv /opt/pip \
    && python3 -m venv --without-pip /opt/env \
    && /opt/pip/bin/python -m pip --python /opt/env/bin/python --isolated \
        --disable-pip-version-check install --quiet --no-cache-dir --no-index --no-deps \
        --no-compile --find-links /wheels --require-hashes --requirement /requirements.lock
# Workers cannot write any.  Never checked against the sources, whose times a copy may change;
# tests are left out; a package may ship a file that is no valid Python.
RUN /opt/env/bin/python -I -m compileall -q -j 0 --invalidation-mode unchecked-hash \
        -x '/site-packages/.*/tests?/' /opt/env/lib || true

# Debian packages are fetched in a stage of their own: neither the authority that this takes
# nor the lists are left in the image.
FROM ${BASE_IMAGE} AS packages
ARG BUILD
LABEL mdbench.stage=${BUILD}
USER root
COPY apt/ /apt/
RUN mkdir /debs \
    && if [ -s /apt/packages ]; then \
        if [ -s /apt/ca.pem ]; then \
            echo 'Acquire::https::CAInfo "/apt/ca.pem";' > /etc/apt/apt.conf.d/99mdbench; \
        fi \
        && rm -f /etc/apt/apt.conf.d/docker-clean \
        && apt-get update \
        && xargs apt-get install --yes --no-install-recommends --download-only < /apt/packages \
        && cp /var/cache/apt/archives/*.deb /debs/; \
    fi

FROM ${BASE_IMAGE}
USER root
COPY --from=packages /debs/ /debs/
RUN if ls /debs/*.deb > /dev/null 2>&1; then \
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
            --no-download /debs/*.deb; \
    fi \
    && rm -rf /debs
COPY --from=wheels /opt/env /opt/env
WORKDIR /
ENTRYPOINT []
CMD []
