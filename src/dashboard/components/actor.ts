/** Who did something, as every document selects it; shown by `ActorName`. */
import { graphql } from '../api/graphql.ts'

export const actorFragment = graphql(`
  fragment ActorName on Actor {
    kind
    name
    subject
  }
`)
