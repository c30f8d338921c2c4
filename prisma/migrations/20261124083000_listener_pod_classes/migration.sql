-- Classes that the listener program reports: what resource_spec.class of its deployments may name. Empty for programs that report none.
ALTER TABLE "listeners" ADD COLUMN "pod_classes" TEXT[] DEFAULT ARRAY[]::TEXT[];
