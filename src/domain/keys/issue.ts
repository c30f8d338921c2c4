/** Stores a new API key, for the API, the bootstrap and the command line. */

import type { ApiKey } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { RANKED_ROLES } from '../transaction/access.ts'
import type { Tx } from '../transaction/context.ts'
import type { ActorRef } from '../values/event-actor.ts'
import { displayPrefix, generateKey, hashKey } from './key.ts'

export type KeyView = Omit<ApiKey, 'hash'>

export const WITHOUT_HASH = { hash: true } as const

export const KEY_ROLES = [...RANKED_ROLES, 'listener', 'agent', 'builder'] as const satisfies Role[]

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
  /** chosen by the operator; default: random */
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
      prefix: displayPrefix(text),
      hash: hashKey(text),
    },
    omit: WITHOUT_HASH,
  })
  tx.emit({ workspaceId, type: 'api_key.created', subjectId: row.id, actor: key.actor })
  return { row, text }
}
