# One image for each program: `docker build --build-arg SERVICE=billing .`. The image that runs has Node, one file of code and
# the files that the code reads: no shell, no packages, no package manager. deploy/README.md has the source of the digests.
ARG NODE_BUILD=node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG NODE_RUN=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a

# All programs of a commit share these packages.
FROM ${NODE_BUILD} AS packages
WORKDIR /src
COPY . .
RUN ["node", "scripts/bootstrap.mjs", "scripts/bundle.ts", "cli"]

FROM packages AS build
ARG SERVICE
# The caller passes the commit, because git's folder is not in the build.
ARG BUILD_COMMIT=unknown
ENV BUILD_COMMIT=${BUILD_COMMIT}
RUN ["sh", "-c", "node scripts/bootstrap.mjs scripts/bundle.ts \"$SERVICE\" && mv \"dist/bundle/$SERVICE\" /app && mkdir /empty"]

FROM packages AS build-e2e
ARG BUILD_COMMIT=unknown
ENV BUILD_COMMIT=${BUILD_COMMIT}
RUN ["sh", "-c", "node scripts/bootstrap.mjs scripts/bundle.ts verify && mv dist/bundle/verify /app"]

# Runs test/cluster against a router.
FROM ${NODE_RUN} AS e2e
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build-e2e /app /app
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "src/main.js"]

FROM ${NODE_RUN} AS runtime
WORKDIR /app
ENV NODE_ENV=production
# These are the settings of scripts/bootstrap/run-entry.mjs, which has the reasons.
ENV MALLOC_ARENA_MAX=2
ENV MALLOC_MMAP_THRESHOLD_=131072
COPY --from=build /app /app
# A volume that is mounted here gets the owner of this folder.
COPY --from=build --chown=65532:65532 /empty /data
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "src/main.js"]
