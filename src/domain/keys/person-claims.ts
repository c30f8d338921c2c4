/** Reads the claims about a person, from a JWT or from the organization's login (docs/api-rules.md#who-is-calling). */
import { z } from 'zod'
import { RANKED_ROLES } from '../transaction/access.ts'
import { COMMAND_LINE_SUBJECT } from '../values/event-types.ts'

const CLAIMS = {
  organization: 'org',
  /** id of the workspace; absent: every workspace of the organization, selected by X-Tenant-Id */
  workspace: 'workspace',
  role: 'role',
  subject: 'sub',
} as const

/** In UTF-16 units. */
const MAX_SUBJECT_LENGTH = 256
/** Characters that a text column rejects (NUL, half of a surrogate pair) or that would forge a line in a log. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u

const line = z
  .string()
  .min(1)
  .max(MAX_SUBJECT_LENGTH)
  .refine((text) => !FORBIDDEN_CHARACTERS.test(text))

const claimsSchema = z.object({
  // a person must not look like the command line
  [CLAIMS.subject]: line.refine((text) => text !== COMMAND_LINE_SUBJECT),
  [CLAIMS.organization]: z.uuid().toLowerCase(),
  [CLAIMS.workspace]: z.uuid().toLowerCase().nullish(),
  [CLAIMS.role]: z.enum(RANKED_ROLES),
})

export interface Person {
  subject: string
  organizationId: string
  workspaceId: string | null
  role: (typeof RANKED_ROLES)[number]
}

/** Returns the person, or the names of missing or invalid claims. */
export function readPerson(claims: Record<string, unknown>): { person: Person } | { wrong: string[] } {
  const read = claimsSchema.safeParse(claims)
  if (!read.success) return { wrong: [...new Set(read.error.issues.map(({ path }) => String(path[0])))] }
  const { sub, org, workspace = null, role } = read.data
  return { person: { subject: sub, organizationId: org, workspaceId: workspace, role } }
}

/** Returns the first usable name claim of OpenID Connect, or else the subject. */
export function personName(claims: Record<string, unknown>, { subject }: Person): string {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const read = line.safeParse(claims[claim])
    if (read.success) return read.data
  }
  return subject
}
