/** Who looks at the page, for whatever below it depends on the role: what one may not do isn't offered. */
import { createContext, type ReactNode, useContext } from 'react'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { actorFragment } from './actor-name.tsx'

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
const Context = createContext<Me | null>(null)

/** `me`: null while it is not known, when nothing may be done. */
export function MeProvider({ me, children }: { me: Me | null; children: ReactNode }) {
  return <Context value={me}>{children}</Context>
}

export const useMe = (): Me | null => useContext(Context)

/** Whether the reader has at least this role: `{useMay('deployer') && <Button …>}`. The server decides in any case. */
export function useHasRole(least: (typeof RANKS)[number]): boolean {
  const me = useMe()
  return me !== null && RANKS.indexOf(me.role as 'viewer') >= RANKS.indexOf(least)
}
