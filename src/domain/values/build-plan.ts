/** The build plan: what a build does. Builders report it, revisions show it to people, and no code depends on it. */
import { z } from 'zod'

/** Maximum characters per text and commands per plan. Clients must shorten longer values. */
export const BUILD_PLAN_LIMITS = { sentence: 2000, command: 1000, commands: 20 }

const command = z.string().max(BUILD_PLAN_LIMITS.command)

/** Newer versions may send unknown words. */
export const buildPlanMembers = {
  kind: z.string().min(1).max(64).describe('The kind of project: `dockerfile`, `node` or `python`.'),
  server: z
    .string()
    .min(1)
    .max(64)
    .describe(
      '`own`: the source contains its server. `supplied`: the source contains only graphs, and the platform adds the server.',
    ),
  sentence: z.string().max(BUILD_PLAN_LIMITS.sentence).describe('Describes the whole plan for people.'),
  install: z.array(command).max(BUILD_PLAN_LIMITS.commands).describe('The install commands, in order.'),
  build: command.nullable().describe('The build command. null: nothing to build.'),
  start: command.nullable().describe('The start command. null: the image defines it.'),
} as const

const buildPlan = z.object(buildPlanMembers)
export type BuildPlanReport = z.output<typeof buildPlan>

/** Null: there is none, or this version cannot read it. */
export const knownBuildPlan = (value: unknown): BuildPlanReport | null => buildPlan.safeParse(value).data ?? null
