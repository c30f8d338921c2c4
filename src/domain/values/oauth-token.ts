/** Shapes that tokens, authorizations and connections share. */
import { z } from 'zod'
import { printable, uuid } from '../parsing/fields.ts'

/** A scope of RFC 6749, 3.3: visible ASCII without quotes and backslashes. */
export const scope = z
  .string()
  .max(512)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'Must be a scope: printable ASCII characters without spaces, " and \\.')

export const scopes = z.array(scope).max(100)

/** Callers choose the id, because agents are not stored here. */
export const agentId = printable(255)

export const tokenPath = z.object({ token_id: uuid })
