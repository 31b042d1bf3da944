# A method's environment: /opt/env, made from wheels that the host has fetched.
# Nothing here asks an index, so no setting of pip enters the build.  Taken by BuildKit and by
# the builder before it: no RUN --mount.  The labels' values are filled in for each build.
ARG BASE_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE} AS wheels
LABEL mdbench.stage=1
USER root
COPY wheels/ /wheels/
# pip stays outside of the environment, which holds what the lock says and nothing else; where
# the base has none, the one in venv's own wheel serves.  The bytecode is there from the start,
# for workers cannot write any; it is never checked against the sources, whose times a copy may
# change; tests are left out; a package may ship a file that is no valid Python.  It is the base's
# Python that compiles: that of the environment would run what packages have put there (*.pth).
RUN python3 -m venv --without-pip /opt/env \
    && if ! python3 -c 'import pip' 2> /dev/null; then \
        export PYTHONPATH="$(find /usr/share/python-wheels /usr/lib /usr/local/lib \
            -name 'pip-*.whl' 2> /dev/null | head -n 1)"; \
    fi \
    && python3 -m pip --python /opt/env/bin/python --isolated --disable-pip-version-check \
        install --quiet --root-user-action ignore --no-cache-dir --no-index --no-deps \
        --no-compile --find-links /wheels --require-hashes --requirement /wheels/requirements.lock \
    && unset PYTHONPATH \
    && { python3 -I -S -m compileall -q -j 0 --invalidation-mode unchecked-hash \
        -x '/site-packages/.*/tests?/' /opt/env/lib || true; }

FROM ${BASE_IMAGE} AS environment
COPY --from=wheels /opt/env /opt/env
ENTRYPOINT []
LABEL mdbench=1

# Where a method has system packages they are fetched in a stage of their own: neither the
# authority that this takes nor the lists are left in the image.
FROM ${BASE_IMAGE} AS packages
LABEL mdbench.stage=1
USER root
COPY apt/ /apt/
RUN mkdir /debs \
    && if [ -s /apt/ca.pem ]; then \
        echo 'Acquire::https::CAInfo "/apt/ca.pem";' > /etc/apt/apt.conf.d/99mdbench; \
    fi \
    && rm -f /etc/apt/apt.conf.d/docker-clean \
    && apt-get update \
    && xargs apt-get install --yes --no-install-recommends --download-only < /apt/packages \
    && find /var/cache/apt/archives -name '*.deb' -exec mv -t /debs {} + \
    && mv /apt/packages /debs/

FROM environment AS environment-with-packages
USER root
COPY --from=packages /debs/ /debs/
# By file, and by name too, so that one that was not fetched is missed.
RUN (find /debs -name '*.deb'; cat /debs/packages) | DEBIAN_FRONTEND=noninteractive \
        xargs apt-get install --yes --no-install-recommends \
    && rm -rf /debs
