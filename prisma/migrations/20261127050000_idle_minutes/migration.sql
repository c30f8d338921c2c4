-- Minutes without a request after which an agent sleeps, if its deployment has min_scale 0. null: the server's default.
ALTER TABLE "deployments" ADD COLUMN "idle_minutes" INTEGER;
