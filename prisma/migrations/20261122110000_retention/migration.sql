-- What is kept for a while finds what is over its time by these, and reads nothing else.
CREATE INDEX "steps_finished_at" ON "steps"("finished_at") WHERE "finished_at" IS NOT NULL;
CREATE INDEX "revisions_with_details" ON "revisions"("status_since") WHERE "status_message" LIKE E'%\n%';

-- The oldest lines are the first ones: one whose clock was ahead would keep all behind it.
UPDATE "log_lines" SET "time" = now() WHERE "time" > now();
