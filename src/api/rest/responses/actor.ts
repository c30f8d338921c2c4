/** The actor of a change in REST. */
import { z } from 'zod'
import { ACTOR_KIND_WORDS, ACTOR_KINDS } from '../../../domain/values/event-types.ts'
import { responseSchema } from './response-schema.ts'

/** A Markdown list of words and their meaning, for a description. */
export const describeWords = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([word, meaning]) => `- \`${word}\`: ${meaning}`)
    .join('\n')

export const actor = responseSchema(
  { id: 'Actor' },
  {
    kind: z.enum(ACTOR_KIND_WORDS).describe(describeWords(ACTOR_KINDS)),
    name: z.string().nullable().describe('The name of the actor at the time of the action.'),
    id: z.string().nullable().describe('The id of the key or of the listener, or the `sub` of the person.'),
  },
)
