/** API keys: their text and hash, the rows that a caller may see, and the insert for the API, the bootstrap and the command line. */
import { z } from 'zod'
import type { ApiKey, Prisma } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { hashToken, randomToken } from '../crypto/random-token.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type Actor, RANKED_ROLES } from '../transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
import type { ActorRef } from '../values/event-types.ts'
import { offsetQuery } from '../values/shapes.ts'

const KEY_PREFIX = 'cpk_'

export const generateKey = (token = randomToken()): string => KEY_PREFIX + token

export const hashKey = hashToken

/** The first characters, so people can tell keys apart. Fewer for a key that the operator chose, because it may be short. */
function displayPrefix(text: string): string {
  return text.slice(0, text.startsWith(KEY_PREFIX) ? 12 : 4)
}

export type KeyView = Omit<ApiKey, 'hash'>

export const WITHOUT_HASH = { hash: true } as const

export const KEY_ROLES = [...RANKED_ROLES, 'listener', 'agent', 'builder', 'caller'] as const satisfies Role[]

export interface NewKey {
  organizationId: string
  /** the workspace whose event log shows the key; also its only workspace, unless it is organization-wide */
  workspaceId: string
  organizationWide?: boolean
  name: string
  /** person or team that uses the key; absent: events show `name` */
  owner?: string | null | undefined
  role: (typeof KEY_ROLES)[number]
  secretsRead?: boolean
  /** required for the role `listener` and allowed only for it: a listener of the workspace */
  listenerId?: string | null
  /** required for the role `agent` and allowed only for it */
  agentId?: string | null
  expiresAt?: Date | null
  /** subject of the creator; null: none */
  createdBy: string | null
  /** author of the event; absent: the system */
  actor?: ActorRef
  /** of a login's key: kind of its approver, whose subject is `createdBy` */
  approverKind?: Actor['kind']
  /** chosen by the operator, or by a login; default: random */
  text?: string
}

export interface IssuedKey {
  row: KeyView
  /** the key itself: shown once, never stored */
  text: string
}

export async function issueKey(tx: Tx, key: NewKey): Promise<IssuedKey> {
  const { text = generateKey(), workspaceId, organizationId, organizationWide, name, role, createdBy } = key
  const row = await tx.sql.apiKey.create({
    data: {
      organizationId,
      workspaceId: organizationWide ? null : workspaceId,
      name,
      owner: key.owner,
      role,
      secretsRead: key.secretsRead,
      listenerId: key.listenerId,
      agentId: key.agentId,
      expiresAt: key.expiresAt,
      createdBy,
      approverKind: key.approverKind,
      prefix: displayPrefix(text),
      hash: hashKey(text),
    },
    omit: WITHOUT_HASH,
  })
  tx.emit({ workspaceId, type: 'api_key.created', subjectId: row.id, actor: key.actor })
  return { row, text }
}

export function visibleKeys(ctx: ReadContext): Prisma.ApiKeyWhereInput {
  const { id, organizationId } = ctx.workspace
  return { organizationId, OR: [{ workspaceId: id }, { workspaceId: null }] }
}

/** The key of the call itself, and the keys of logins that the caller approved. */
export function ownKeys({ actor: { kind, subject } }: ReadContext): Prisma.ApiKeyWhereInput {
  const approved = { approverKind: kind, createdBy: subject }
  return kind === 'api_key' ? { OR: [{ id: subject }, approved] } : approved
}

/** Includes revoked and expired keys. Role: viewer for own keys, admin for all. */
export const keys = resource<KeyView>({
  name: 'API key',
  table: (sql) => sql.apiKey,
  visible: (ctx) => ({ AND: [visibleKeys(ctx), ctx.actor.role === 'admin' ? {} : ownKeys(ctx)] }),
  view: { omit: WITHOUT_HASH },
})

export const listInput = z.object({ query: z.object(offsetQuery) })

export const listKeys = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<KeyView>> =>
  keys.page(ctx, () => parse(listInput, raw).query)

/** The key of the call or of its session; null: neither has one. */
export async function ownKey({ actor, db }: ReadContext): Promise<KeyView | null> {
  if (actor.kind !== 'api_key') return null
  return db.apiKey.findUnique({ where: { id: actor.subject }, omit: WITHOUT_HASH })
}
