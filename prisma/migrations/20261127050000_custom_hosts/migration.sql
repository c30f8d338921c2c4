-- the host of custom_url, which the door routes to the deployment
ALTER TABLE "deployments" ADD COLUMN "custom_host" TEXT;
