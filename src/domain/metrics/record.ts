/** Stores samples that a worker, a listener or a door has measured, in one statement for all its deployments. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { fromWire } from '../parsing/codec.ts'
import { parse } from '../parsing/parse.ts'
import type { MetricsRequest } from '../protocol/protocol.ts'
import { metricsRequest } from '../protocol/requests.ts'
import { ofScope, type Scope } from '../repositories/lease.ts'
import type { ReadCore } from '../transaction/context.ts'
import type { DoorCluster } from '../values/access-copy.ts'
import { SAMPLE_SECONDS } from '../values/metrics.ts'
import { chunkRowsSql, chunksOf } from './chunks.ts'

/**
 * Samples of deployments that the scope does not have are ignored, and samples that are repeated or not of the last hour. A
 * sample is lost if this fails: the caller measures on.
 */
export async function recordMetrics(
  core: Pick<ReadCore, 'db'>,
  scope: Scope | DoorCluster,
  { processNumber, samples }: MetricsRequest,
): Promise<void> {
  if (samples.length === 0) return
  await core.db.$executeRaw`
    INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
    SELECT d.id, ${SAMPLE_SECONDS}::int, c.start, r.id, ${processNumber}::int, c.measures::real[], c.buckets::smallint[],
           c.counts::int[]
    FROM ${chunkRowsSql(chunksOf(samples))}
    JOIN deployments d ON d.id = c.deployment_id
    JOIN revisions r ON r.id = coalesce(c.revision_id, d.active_revision_id) AND r.deployment_id = d.id
    WHERE d.torn_down_at IS NULL AND ${'listeners' in scope ? ofCluster(scope) : ofScope(scope)}
      AND c.start BETWEEN now() - interval '1 hour' AND now() + interval '1 minute'
    ON CONFLICT DO NOTHING`
}

/** For the door of a cluster. Throws ValidationError. */
export async function recordDoorMetrics(core: ReadCore, cluster: DoorCluster, body: unknown): Promise<void> {
  const parsed = parse(z.object({ body: metricsRequest.in }), { body })
  await recordMetrics(core, cluster, fromWire(metricsRequest, parsed.body))
}

/** Deployments `d` that doors of this server serve (keys/access-copy.ts). */
const ofCluster = ({ listeners, namespace }: DoorCluster) => Prisma.sql`
  (d.listener_id IS NULL OR d.listener_id = ANY (${[...listeners]}::uuid[]))
  AND coalesce(d.k8s_namespace, ${namespace}) IS NOT NULL`
