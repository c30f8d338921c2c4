/**
 * Takes a delivery of the git provider's webhook: keeps the little of it that is needed, once for each delivery id.
 * It is only a hint; what is done about it (handle.ts) asks the provider what is true.
 */
import { z } from 'zod'
import type { Core } from '../context.ts'
import { parse } from '../parse.ts'

/** NOTIFY channel: there may be something to do with the git provider. */
export const GITPROVIDER_CHANNEL = 'pilothouse_gitprovider'

const installation = z.object({ id: z.int().min(1) })

/** What is read of each event that is handled. */
const BODIES = {
  push: z.object({
    ref: z.string().max(1024),
    after: z.string().regex(/^[0-9a-f]{40,64}$/, 'Must be a commit.'),
    repository: z.object({
      full_name: z
        .string()
        .max(512)
        .regex(/^[^/]+\/[^/]+$/, 'Must be owner/name.'),
    }),
    installation: installation.nullish(),
  }),
  installation: z.object({ action: z.string().max(64), installation }),
}

const header = z.object({
  'x-github-delivery': z
    .string()
    .max(128)
    .regex(/^[\w.:-]+$/, 'Must be the id of the delivery.'),
  'x-github-event': z
    .string()
    .max(64)
    .regex(/^[\w.-]+$/, 'Must be the name of an event.'),
})

/** What is kept of a delivery that is handled; the others are only remembered. */
interface Kept {
  action?: string
  installationId?: number
  repository?: string
  branch?: string
  after?: string
}

/** The raw parts of a delivery whose signature was verified. `body`: its JSON. */
export interface RawDelivery {
  header: Record<string, unknown>
  body: unknown
}

/** `duplicate`: this delivery was taken before; nothing was changed. Throws ValidationError. */
export async function receiveDelivery(core: Core, raw: RawDelivery): Promise<{ duplicate: boolean }> {
  const { id, event, kept } = read(raw)
  const written = await core.db.$executeRaw`
    WITH taken AS (
      INSERT INTO webhook_deliveries (id, event, action, installation_id, repository, branch, after, finished_at)
      VALUES (${id}, ${event}, ${kept?.action ?? null}, ${kept?.installationId ?? null}::bigint, ${kept?.repository ?? null},
              ${kept?.branch ?? null}, ${kept?.after ?? null}, CASE WHEN ${kept === null} THEN clock_timestamp() END)
      ON CONFLICT (id) DO NOTHING RETURNING id
    )
    SELECT pg_notify(${GITPROVIDER_CHANNEL}, '') FROM taken`
  return { duplicate: written === 0 }
}

function read(raw: RawDelivery): { id: string; event: string; kept: Kept | null } {
  const event = raw.header['x-github-event']
  if (event === 'push') {
    const delivery = parse(z.object({ header, body: BODIES.push }), raw)
    return { ...named(delivery), kept: keptOfPush(delivery.body) }
  }
  if (event === 'installation') {
    const delivery = parse(z.object({ header, body: BODIES.installation }), raw)
    const { action } = delivery.body
    return { ...named(delivery), kept: { action, installationId: delivery.body.installation.id } }
  }
  return { ...named(parse(z.object({ header, body: z.unknown().transform(() => null) }), raw)), kept: null }
}

const named = (delivery: { header: z.output<typeof header> }) => ({
  id: delivery.header['x-github-delivery'],
  event: delivery.header['x-github-event'],
})

/** Null for what is nobody's concern: a tag, a branch that was deleted, a push that no installation told of. */
function keptOfPush({ ref, after, repository, installation }: z.output<typeof BODIES.push>): Kept | null {
  const branch = /^refs\/heads\/(.+)$/s.exec(ref)?.[1]
  if (!branch || !installation || /^0+$/.test(after)) return null
  return { installationId: installation.id, repository: repository.full_name, branch, after }
}
