/** Status and serving as conditions on base columns, so indexes can answer. On deployments `d` and listeners `l`. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { DeploymentStatus } from '../values/shapes.ts'
import { servingSql } from './serving.ts'
import { silentBefore } from './status.ts'

const LAST_SEEN = Prisma.sql`coalesce(l.last_seen_at, l.created_at)`

export function whereStatusSql(status: DeploymentStatus, now: Date): Prisma.Sql {
  if (status === 'AWAITING_DELETE') return Prisma.sql`d.deleted_at IS NOT NULL`
  const before = silentBefore(now)
  if (status === 'UNKNOWN') return Prisma.sql`d.deleted_at IS NULL AND ${LAST_SEEN} < ${before}`
  const notSilent = Prisma.sql`d.deleted_at IS NULL AND (l.id IS NULL OR ${LAST_SEEN} >= ${before})`
  if (status === 'AWAITING_DATABASE') return Prisma.sql`d.provisioned_at IS NULL AND ${notSilent}`
  return Prisma.sql`${status === 'UNUSED' ? Prisma.sql`d.idle` : Prisma.sql`NOT d.idle`} AND d.provisioned_at IS NOT NULL AND ${notSilent}`
}

export function whereServingSql(serving: boolean, now: Date): Prisma.Sql {
  return serving ? servingSql(now) : Prisma.sql`NOT ${servingSql(now)}`
}
