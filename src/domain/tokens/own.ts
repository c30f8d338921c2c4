/** The boundary of tokens: their workspace, and in it the one person whose they are (contract 1). */
import type { RequestContext } from '../context.ts'

/**
 * Every look-up of tokens for a caller spreads this into its where-clause; so does one of connections, for their token.
 */
export function ownTokens(ctx: RequestContext): { workspaceId: string; subject: string } {
  return { workspaceId: ctx.workspace.id, subject: ctx.actor.subject }
}
