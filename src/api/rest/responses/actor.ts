/** Who did something, as REST shows it. */
import { z } from 'zod'
import { ACTOR_KIND_WORDS, ACTOR_KINDS } from '../../../domain/values/event-actor.ts'
import { responseSchema } from './response-schema.ts'

/** Words with what they mean, for a description. */
export const describeWords = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([word, meaning]) => `- \`${word}\`: ${meaning}`)
    .join('\n')

export const actor = responseSchema(
  { id: 'Actor' },
  {
    kind: z.enum(ACTOR_KIND_WORDS).describe(describeWords(ACTOR_KINDS)),
    name: z.string().nullable().describe('For people, as it was then.'),
    id: z.string().nullable().describe('Of the key or the listener, or the person’s `sub`.'),
  },
)
