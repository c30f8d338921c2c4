-- Since when nobody has a lease for a step that was taken: its deadline stands still meanwhile. NULL: somebody has, or nobody ever had.
ALTER TABLE "steps" ADD COLUMN "paused_at" TIMESTAMPTZ(3);
