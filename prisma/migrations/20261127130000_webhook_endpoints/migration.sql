-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "form" TEXT NOT NULL,
    "event_types" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_until" TIMESTAMPTZ(3),
    "cursor" BIGINT NOT NULL,
    "unanswered" INTEGER NOT NULL DEFAULT 0,
    "silent_since" TIMESTAMPTZ(3),
    "not_before" TIMESTAMPTZ(3),
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "edit" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "endpoint_deliveries" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "endpoint_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "deployment_id" UUID,
    "ordering_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "tries" INTEGER NOT NULL DEFAULT 0,
    "tried_at" TIMESTAMPTZ(3),
    "answer" INTEGER,
    "error" TEXT,
    "delivered_at" TIMESTAMPTZ(3),
    "dead_at" TIMESTAMPTZ(3),

    CONSTRAINT "endpoint_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "endpoint_queues" (
    "endpoint_id" UUID NOT NULL,
    "ordering_key" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "taken_until" TIMESTAMPTZ(3),
    "taken_by" UUID,
    "tries" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "endpoint_queues_pkey" PRIMARY KEY ("endpoint_id","ordering_key")
);

-- CreateIndex
CREATE INDEX "webhook_endpoints_workspace_id_created_at_idx" ON "webhook_endpoints"("workspace_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "endpoint_deliveries_endpoint_id_sequence_key" ON "endpoint_deliveries"("endpoint_id", "sequence");

-- CreateIndex
CREATE INDEX "endpoint_queues_due_at_idx" ON "endpoint_queues"("due_at");

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "endpoint_deliveries" ADD CONSTRAINT "endpoint_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "endpoint_queues" ADD CONSTRAINT "endpoint_queues_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The next delivery of a queue.
CREATE INDEX "endpoint_deliveries_pending" ON "endpoint_deliveries"("endpoint_id", "ordering_key", "sequence")
  WHERE "delivered_at" IS NULL AND "dead_at" IS NULL;

-- Dead letters of an endpoint, newest first.
CREATE INDEX "endpoint_deliveries_dead" ON "endpoint_deliveries"("endpoint_id", "created_at", "id") WHERE "dead_at" IS NOT NULL;

-- Deliveries of an endpoint, newest first.
CREATE INDEX "endpoint_deliveries_endpoint_id_created_at_id_idx" ON "endpoint_deliveries"("endpoint_id", "created_at", "id");

-- Old deliveries, for retention.
CREATE INDEX "endpoint_deliveries_created_at_idx" ON "endpoint_deliveries"("created_at");
