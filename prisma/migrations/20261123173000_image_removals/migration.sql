-- Repositories of deployments that are gone: who built for them may have pushed until then.
CREATE TABLE "image_removals" (
    "deployment_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "not_before" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "image_removals_pkey" PRIMARY KEY ("deployment_id")
);

CREATE INDEX "image_removals_not_before_idx" ON "image_removals"("not_before");
