/** Receives webhook deliveries: stores the members that handle.ts needs, once for each delivery id. */
import { z } from 'zod'
import { parse } from '../../parsing/parse.ts'
import type { ReadCore } from '../../transaction/context.ts'
import { type CommitWords, commitWords, NO_COMMIT_WORDS } from '../../values/revision-source.ts'

/** NOTIFY channel: the git provider jobs may have work. */
export const GITPROVIDER_CHANNEL = 'pilothouse_gitprovider'

const installation = z.object({ id: z.int().min(1) })

/** Text about the pushed commit. No decision depends on it, so an invalid value counts as absent. */
const headCommit = z
  .object({ id: z.string(), message: z.string(), author: z.object({ name: z.string() }) })
  .nullish()
  .catch(null)

const BODIES = {
  push: z.object({
    ref: z.string().max(1024),
    after: z.string().regex(/^[0-9a-f]{40,64}$/, 'Must be a commit.'),
    repository: z.object({
      id: z.int().min(1).optional(),
      full_name: z
        .string()
        .max(512)
        .regex(/^[^/]+\/[^/]+$/, 'Must be owner/name.'),
    }),
    installation: installation.nullish(),
    head_commit: headCommit,
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

const INPUTS = {
  push: z.object({ header, body: BODIES.push }),
  installation: z.object({ header, body: BODIES.installation }),
  other: z.object({ header, body: z.unknown().transform(() => null) }),
}

/** The stored members of a delivery to handle. For other deliveries only the id is stored. */
interface StoredDelivery {
  action?: string
  installationId?: number
  repository?: string
  repositoryId?: number | undefined
  branch?: string
  after?: string
  words?: CommitWords
}

/** A delivery with a verified signature. `body`: parsed JSON. */
export interface RawDelivery {
  header: Record<string, unknown>
  body: unknown
}

/** `duplicate`: the delivery was received before. Throws ValidationError. */
export async function receiveDelivery(core: ReadCore, raw: RawDelivery): Promise<{ duplicate: boolean }> {
  const { id, event, stored } = parseDelivery(raw)
  const written = await core.db.$executeRaw`
    WITH taken AS (
      INSERT INTO webhook_deliveries (id, event, action, installation_id, repository, repository_id, branch, after, commit_message, commit_author, finished_at)
      VALUES (${id}, ${event}, ${stored?.action ?? null}, ${stored?.installationId ?? null}::bigint, ${stored?.repository ?? null},
              ${stored?.repositoryId ?? null}::bigint, ${stored?.branch ?? null}, ${stored?.after ?? null}, ${stored?.words?.commitMessage ?? null},
              ${stored?.words?.commitAuthor ?? null}, CASE WHEN ${stored === null} THEN clock_timestamp() END)
      ON CONFLICT (id) DO NOTHING RETURNING id
    )
    SELECT pg_notify(${GITPROVIDER_CHANNEL}, '') FROM taken`
  return { duplicate: written === 0 }
}

function parseDelivery(raw: RawDelivery): { id: string; event: string; stored: StoredDelivery | null } {
  const event = raw.header['x-github-event']
  if (event === 'push') {
    const delivery = parse(INPUTS.push, raw)
    return { ...deliveryIds(delivery), stored: parsePush(delivery.body) }
  }
  if (event === 'installation') {
    const delivery = parse(INPUTS.installation, raw)
    const { action } = delivery.body
    return { ...deliveryIds(delivery), stored: { action, installationId: delivery.body.installation.id } }
  }
  return { ...deliveryIds(parse(INPUTS.other, raw)), stored: null }
}

const deliveryIds = (delivery: { header: z.output<typeof header> }) => ({
  id: delivery.header['x-github-delivery'],
  event: delivery.header['x-github-event'],
})

/** Null for a push that needs no handling: of a tag, of a deleted branch, or without an installation. */
function parsePush({
  ref,
  after,
  repository,
  installation,
  head_commit,
}: z.output<typeof BODIES.push>): StoredDelivery | null {
  const branch = /^refs\/heads\/(.+)$/s.exec(ref)?.[1]
  if (!branch || !installation || /^0+$/.test(after)) return null
  const words = head_commit?.id === after ? commitWords(head_commit.message, head_commit.author.name) : NO_COMMIT_WORDS
  const { id: repositoryId, full_name: name } = repository
  return { installationId: installation.id, repository: name, repositoryId, branch, after, words }
}
