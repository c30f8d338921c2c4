/** Filters by actor, among recently active ones. For older actors, click the name in the list. */
import { Select } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { DECIDING_ACTOR_KINDS } from './search.ts'

const recentActorsQuery = graphql(`
  query LatelyActive($actorKinds: [ActorKind!]) {
    events(first: 100, order: NEWEST_FIRST, actorKinds: $actorKinds) {
      nodes {
        cursor
        actor {
          subject
          name
        }
      }
    }
  }
`)

const actorNameQuery = graphql(`
  query NameOfActor($actor: String!) {
    events(first: 1, order: NEWEST_FIRST, actor: $actor) {
      nodes {
        cursor
        actor {
          subject
          name
        }
      }
    }
  }
`)

interface ByWhomProps {
  who: string | undefined
  onWho(who: string | undefined): void
}

export function ActorFilter({ who, onWho }: ByWhomProps) {
  const [wasOpened, setOpened] = useState(false)
  const [{ data: lately }] = useQuery({
    query: recentActorsQuery,
    variables: { actorKinds: [...DECIDING_ACTOR_KINDS] },
    pause: !wasOpened,
    requestPolicy: 'cache-and-network',
  })
  const [{ data: one }] = useQuery({ query: actorNameQuery, variables: { actor: who ?? '' }, pause: who === undefined })
  const names = new Map(who === undefined ? [] : [[who, who]])
  for (const { actor } of [...(lately?.events.nodes ?? []), ...(one?.events.nodes ?? [])])
    if (actor.subject) names.set(actor.subject, actor.name ?? actor.subject)
  return (
    <Select
      size="xs"
      w={170}
      aria-label="Actor"
      placeholder="Anyone"
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the actor' }}
      nothingFoundMessage="No recent actors"
      onDropdownOpen={() => setOpened(true)}
      value={who ?? null}
      onChange={(value) => onWho(value ?? undefined)}
      data={[...names].map(([value, label]) => ({ value, label }))}
    />
  )
}
