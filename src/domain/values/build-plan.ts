/** What a build does, as whoever builds reports it and a revision shows it: for people, nobody's decision depends on it. */
import { z } from 'zod'

/** Bounds, in characters; who sends more cuts it. */
export const BUILD_PLAN_LIMITS = { sentence: 2000, command: 1000, commands: 20 }

const command = z.string().max(BUILD_PLAN_LIMITS.command)

/** A word that is not known here is one of a newer version's. */
export const buildPlanMembers = {
  kind: z.string().min(1).max(64).describe('What is built: `dockerfile`, `node`, `python`.'),
  server: z
    .string()
    .min(1)
    .max(64)
    .describe('`own`: the tree brings its server. `supplied`: it has graphs alone, and the platform brings it.'),
  sentence: z.string().max(BUILD_PLAN_LIMITS.sentence).describe('All of it, for people.'),
  install: z.array(command).max(BUILD_PLAN_LIMITS.commands).describe('What installs, in this order.'),
  build: command.nullable().describe('What builds then; null: nothing.'),
  start: command.nullable().describe('What starts it; null: the image says.'),
} as const

const buildPlan = z.object(buildPlanMembers)
export type BuildPlanReport = z.output<typeof buildPlan>

/** As a revision keeps it; null: none, or one that is not understood. */
export const knownBuildPlan = (value: unknown): BuildPlanReport | null => buildPlan.safeParse(value).data ?? null
