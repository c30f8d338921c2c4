/** The fragment of an event's actor. `ActorName` shows it. */
import { graphql } from '../api/graphql.ts'

export const actorFragment = graphql(`
  fragment ActorName on Actor {
    kind
    name
    subject
  }
`)
