/** The project file, `pilothouse.yaml`: what `deploy` without a name deploys. `init` writes it. */
import fs from 'node:fs'
import { parseDocument, stringify } from 'yaml'
import { z } from 'zod'
import { UsageError } from '../../terminal/command.ts'
import { ACCESSES, PROJECT_FILE, type SourceOptions } from './request.ts'

const text = z.string().min(1)
const amount = z.number().positive()

const source = z
  .strictObject({
    repo: text.optional(),
    ref: text.optional(),
    config: text.optional(),
    integration: text.optional(),
    type: z.enum(['dev', 'prod']).optional(),
    build_on_push: z.boolean().optional(),
    image: text.optional(),
    listener: text.optional(),
    namespace: text.optional(),
    dir: text.optional(),
  })
  .refine(({ repo, image, dir }) => [repo, image, dir].filter((kind) => kind !== undefined).length === 1, {
    message: 'must have exactly one of repo, image and dir',
  })

const project = z.strictObject({
  name: text,
  source,
  resources: z
    .strictObject({
      cpu: amount,
      cpu_limit: amount,
      memory_mb: amount,
      memory_limit_mb: amount,
      min_scale: z.number().int().min(0),
      max_scale: z.number().int().min(1),
      termination_grace_seconds: z.number().int().min(0).max(3600),
    })
    .partial()
    .optional(),
  /** who may call the agent */
  access: z.enum(ACCESSES).optional(),
  /** an agent with min_scale 0 sleeps after this time without a request; 0: the default of the server */
  idle_minutes: z.number().int().min(0).max(10_080).optional(),
  /** names; the values come from the environment */
  secrets: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'must be the name of an environment variable' }))
    .optional(),
})

export type Project = z.infer<typeof project>

/** null: there is no file in the working directory. Throws UsageError with the path of each wrong member. */
export function readProject(): Project | null {
  let content: string
  try {
    content = fs.readFileSync(PROJECT_FILE, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw new UsageError(`${PROJECT_FILE} can't be read (${code}).`)
  }
  const document = parseDocument(content)
  const [syntax] = document.errors
  // the rest of the message quotes the file
  if (syntax) throw new UsageError(`${PROJECT_FILE} is not valid YAML: ${syntax.message.split('\n')[0]}`)
  return checkProject(document.toJS())
}

/** Throws UsageError. */
export function checkProject(value: unknown): Project {
  const parsed = project.safeParse(value)
  if (parsed.success) return parsed.data
  throw new UsageError(parsed.error.issues.flatMap(problems).join('\n'))
}

function problems(issue: z.core.$ZodIssue): string[] {
  const line = (path: PropertyKey[], message: string) => `${PROJECT_FILE}: ${path.join('.') || 'the file'}: ${message}`
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => line([...issue.path, key], 'There is no such member.'))
  return [line(issue.path, issue.message)]
}

/** Throws UsageError if the file exists, unless `force`. */
export function writeProject(header: string, project: Project, force: boolean): void {
  const content = header + stringify(project)
  try {
    fs.writeFileSync(PROJECT_FILE, content, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    throw new UsageError(`${PROJECT_FILE} can't be written (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** The file's members as options of `deploy`. Options for another kind of source replace the file's source. */
export function projectOptions(
  { source, resources, access, idle_minutes }: Project,
  options: SourceOptions,
): SourceOptions {
  const { build_on_push, ...rest } = source
  const kinds = ['repo', 'image', 'dir'] as const
  const replaced = kinds.some((kind) => options[kind] !== undefined && source[kind] === undefined)
  return {
    ...(replaced ? {} : { ...rest, buildOnPush: build_on_push }),
    resources,
    access,
    idleMinutes: idle_minutes,
    ...options,
  }
}
