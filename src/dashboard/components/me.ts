/** The signed-in user. Pages hide actions that the user's role does not allow. */
import { createContext, useContext } from 'react'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { actorFragment } from './actor-name.tsx'

/** The roles of people, lowest first, with what each may do. */
export const RANKED_ROLES = [
  { value: 'viewer', label: 'viewer: reads' },
  { value: 'deployer', label: 'deployer: creates, changes and deletes deployments' },
  { value: 'admin', label: 'admin: everything, with keys and the values of secrets' },
] as const

export const meQuery = graphql(
  `
  query Me {
    me {
      role
      secretsRead
      organizationWide
      apiKey {
        id
        owner
      }
      actor {
        ...ActorName
      }
      organization {
        id
        name
        plan
      }
      workspace {
        id
        name
      }
    }
    server {
      idleMinutes
      overload {
        message
      }
    }
  }
`,
  [actorFragment],
)

export type Me = ResultOf<typeof meQuery>['me']

const RANKS = ['viewer', 'deployer', 'admin'] as const
/** null while loading; then no action is allowed */
export const MeContext = createContext<Me | null>(null)
export const useMe = (): Me | null => useContext(MeContext)

/** Whether the user has at least this role: `{useHasRole('deployer') && <Button …>}`. The server checks it too. */
export function useHasRole(least: (typeof RANKS)[number]): boolean {
  const me = useMe()
  return me !== null && RANKS.indexOf(me.role as 'viewer') >= RANKS.indexOf(least)
}

/** The default of `idleMinutes` of a deployment with this listener. Null: its agents never sleep. */
export function useDefaultIdleMinutes(listenerId: string | null): number | null {
  const [{ data }] = useQuery({ query: meQuery })
  return listenerId ? null : (data?.server.idleMinutes ?? null)
}
