-- How far the output of agents is in the deploy log.
CREATE TABLE "output_positions" (
    "deployment_id" UUID NOT NULL,
    "source" TEXT NOT NULL,
    "line" BIGINT NOT NULL,
    CONSTRAINT "output_positions_pkey" PRIMARY KEY ("deployment_id","source")
);
ALTER TABLE "output_positions" ADD CONSTRAINT "output_positions_deployment_id_fkey"
  FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;
