/** A connection as it is shown: with a little of its token, never the token itself. */
import type { Prisma } from '../../generated/prisma/client.ts'

/** What a look-up of connections brings along. */
export const WITH_TOKEN = {
  token: {
    select: {
      scopes: true,
      label: true,
      accountLabel: true,
      expiresAt: true,
      provider: { select: { providerId: true } },
    },
  },
} as const satisfies Prisma.AgentLinkInclude

export type ConnectionView = Prisma.AgentLinkGetPayload<{ include: typeof WITH_TOKEN }>
