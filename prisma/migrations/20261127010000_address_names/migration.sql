-- names of deployments in the addresses of the door
ALTER TABLE "deployments" ADD COLUMN "address_name" TEXT;
