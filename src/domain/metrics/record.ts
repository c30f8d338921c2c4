/** Stores samples that a worker or a listener has measured, in one statement for all its deployments. */
import type { MetricsRequest } from '../protocol/protocol.ts'
import type { Scope } from '../repositories/lease.ts'
import type { WriteCore } from '../transaction/context.ts'
import { SAMPLE_SECONDS } from '../values/metrics.ts'
import { chunkRowsSql, chunksOf } from './chunks.ts'

/**
 * Samples of deployments that the scope does not have are ignored, and samples that are repeated or not of the last hour. A
 * sample is lost if this fails: the caller measures on.
 */
export async function recordMetrics(core: WriteCore, { listenerId }: Scope, request: MetricsRequest): Promise<void> {
  const { processNumber, samples } = request
  if (samples.length === 0) return
  await core.db.$executeRaw`
    INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
    SELECT c.deployment_id, ${SAMPLE_SECONDS}::int, c.start, c.revision_id, ${processNumber}::int, c.measures::real[], c.buckets::smallint[],
           c.counts::int[]
    FROM ${chunkRowsSql(chunksOf(samples))}
    JOIN revisions r ON r.id = c.revision_id AND r.deployment_id = c.deployment_id
    JOIN deployments d ON d.id = c.deployment_id
    WHERE d.torn_down_at IS NULL AND d.listener_id IS NOT DISTINCT FROM ${listenerId}::uuid
      AND c.start BETWEEN now() - interval '1 hour' AND now() + interval '1 minute'
    ON CONFLICT DO NOTHING`
}
