/** Who did something, as REST shows it. */
import { z } from 'zod'
import { ACTOR_KIND_WORDS, ACTOR_KINDS } from '../../../domain/values/event-actor.ts'
import { answer } from './answer.ts'

/** Words with what they mean, for a description. */
export const wordList = (words: Record<string, string>) =>
  Object.entries(words)
    .map(([word, means]) => `- \`${word}\`: ${means}`)
    .join('\n')

export const actor = answer(
  { id: 'Actor' },
  {
    kind: z.enum(ACTOR_KIND_WORDS).describe(wordList(ACTOR_KINDS)),
    name: z.string().nullable().describe('For people, as it was then.'),
    id: z.string().nullable().describe('Of the key or the listener, or the person’s `sub`.'),
  },
)
