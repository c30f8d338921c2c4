/** Stores a new API key: the one way in which keys come to be, by an admin, by the bootstrap or by the command line. */
import type { ApiKey } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { RANKED_ROLES } from '../access.ts'
import type { Tx } from '../context.ts'
import { generateKey, hashKey, prefixOf } from './key.ts'

/** A key as it may be shown: never its hash. */
export type KeyView = Omit<ApiKey, 'hash'>

/** What a look-up of keys leaves out. */
export const WITHOUT_HASH = { hash: true } as const

/** The roles that a key can be given. */
export const KEY_ROLES = [...RANKED_ROLES, 'listener', 'agent'] as const satisfies Role[]

export interface NewKey {
  organizationId: string
  /** the workspace in whose log the key appears, and which it is for unless it is organization-wide */
  workspaceId: string
  organizationWide?: boolean
  name: string
  role: (typeof KEY_ROLES)[number]
  secretsRead?: boolean
  /** for the role `listener`, and only for it (rules.ts): a listener of the workspace */
  listenerId?: string | null
  /** for the role `agent`, and only for it: the one agent that it is for */
  agentId?: string | null
  expiresAt?: Date | null
  /** who made it; null: the system */
  createdBy: string | null
  /** the key's text, when it was chosen by the operator */
  text?: string
}

export interface IssuedKey {
  row: KeyView
  /** the key itself: shown once, stored nowhere */
  text: string
}

export async function issueKey(tx: Tx, key: NewKey): Promise<IssuedKey> {
  const text = key.text ?? generateKey()
  const row = await tx.sql.apiKey.create({
    data: {
      organizationId: key.organizationId,
      workspaceId: key.organizationWide ? null : key.workspaceId,
      name: key.name,
      role: key.role,
      secretsRead: key.secretsRead ?? false,
      listenerId: key.listenerId ?? null,
      agentId: key.agentId ?? null,
      prefix: prefixOf(text),
      hash: hashKey(text),
      createdBy: key.createdBy,
      expiresAt: key.expiresAt ?? null,
    },
    omit: WITHOUT_HASH,
  })
  tx.emit({ workspaceId: key.workspaceId, type: 'api_key.created', subjectId: row.id, actor: key.createdBy })
  return { row, text }
}
