-- Samples of deployments (src/domain/metrics/README.md). No foreign keys: an insert must not lock rows of deployments.
CREATE TABLE "metric_chunks" (
    "deployment_id" UUID NOT NULL,
    "resolution" SMALLINT NOT NULL,
    "start" TIMESTAMPTZ(3) NOT NULL,
    "revision_id" UUID NOT NULL,
    "source" INTEGER NOT NULL,
    "measures" REAL[],
    "buckets" SMALLINT[],
    "counts" INTEGER[],

    CONSTRAINT "metric_chunks_pkey" PRIMARY KEY ("deployment_id", "resolution", "start", "revision_id", "source")
);

CREATE TABLE "metric_rollups" (
    "resolution" SMALLINT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "target" TIMESTAMPTZ(3),
    "walked_to" UUID,

    CONSTRAINT "metric_rollups_pkey" PRIMARY KEY ("resolution")
);
