/**
 * What claims say about a person, be it of a JWT or of the organization's login: who it is, where, and in which role
 * (docs/api-rules.md#who-is-calling).
 */
import { z } from 'zod'
import { RANKED_ROLES } from '../transaction/access.ts'
import { COMMAND_LINE_SUBJECT } from '../values/event-actor.ts'

/** The names of the claims. `sub` is the person. */
const CLAIMS = {
  /** id of the organization */
  organization: 'org',
  /** id of the workspace; absent: every workspace of the organization, then X-Tenant-Id selects one */
  workspace: 'workspace',
  /** viewer, deployer or admin */
  role: 'role',
  subject: 'sub',
} as const

/** Longest `sub`, in UTF-16 units. */
const MAX_SUBJECT_LENGTH = 256
/** What no column of text takes (NUL, half of a surrogate pair), and what would forge a line wherever the subject is shown. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u

const line = z
  .string()
  .min(1)
  .max(MAX_SUBJECT_LENGTH)
  .refine((text) => !FORBIDDEN_CHARACTERS.test(text))

const claimsSchema = z.object({
  // what the command line does is not to be taken for a person's
  [CLAIMS.subject]: line.refine((text) => text !== COMMAND_LINE_SUBJECT),
  [CLAIMS.organization]: z.uuid().toLowerCase(),
  [CLAIMS.workspace]: z.uuid().toLowerCase().nullish(),
  [CLAIMS.role]: z.enum(RANKED_ROLES),
})

export interface Person {
  subject: string
  organizationId: string
  /** null: every workspace of the organization */
  workspaceId: string | null
  role: (typeof RANKED_ROLES)[number]
}

/** Who it is; or the names of the claims that are missing or not what is expected. */
export function readPerson(claims: Record<string, unknown>): { person: Person } | { wrong: string[] } {
  const read = claimsSchema.safeParse(claims)
  if (!read.success) return { wrong: [...new Set(read.error.issues.map(({ path }) => String(path[0])))] }
  const { sub, org, workspace = null, role } = read.data
  return { person: { subject: sub, organizationId: org, workspaceId: workspace, role } }
}

/** What people call them, by the claims that OpenID Connect has for it; their subject if there is none that is fit. */
export function personName(claims: Record<string, unknown>, { subject }: Person): string {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const read = line.safeParse(claims[claim])
    if (read.success) return read.data
  }
  return subject
}
