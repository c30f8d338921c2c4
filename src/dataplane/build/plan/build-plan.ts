/**
 * What will be done with a source tree: made by `planBuild`, carried out by a runtime or turned into a Dockerfile. Plain
 * JSON, which is kept beside what was built and read back with `buildPlan`.
 *
 * All paths are relative to the root of the source, with `/` between, `.` for the root itself; none leads out of it.
 */
import { z } from 'zod'

const path = z.string()

/** A program that is run while building, without a shell. */
const step = z.object({
  /** where it runs */
  folder: path,
  /**
   * the program and its arguments. In a Python plan `python` and `uv` mean those of the environment that the build has made:
   * its `bin` comes first in PATH, and VIRTUAL_ENV and UV_PROJECT_ENVIRONMENT are its folder
   */
  command: z.array(z.string()).min(1),
  /**
   * the files that alone decide what it does, so that a layer with them and this step can be kept while they are the same;
   * empty: it needs none. null: it may look at anything in the tree
   */
  needs: z.array(path).nullable(),
})

/** A line for `sh -c`, with PORT in its environment. */
const start = z.object({
  /** where it runs */
  folder: path,
  /** what is run before it, and has to succeed: the `prestart` script of a package.json. null: nothing */
  prestart: z.string().nullable(),
  command: z.string(),
  /** where the command is from, for people: `the start script of "package.json"` */
  from: z.string(),
})

const common = {
  /** the graph configuration file, or the one that takes its place */
  graphConfig: path,
  /** it has no graphs, and is deployed as it is; default: false */
  asItIs: z.boolean().optional(),
  /** requested by health checks; absent: the graph configuration file sets none */
  healthPath: z.string().optional(),
  /** lines for the build log, behind the plan's own: what was said and has no effect */
  notes: z.array(z.string()),
}

const program = {
  ...common,
  /**
   * `own`: the tree starts its own server. `supplied`: it has graphs alone, and `supplied` is what serves them; `start` is then
   * that server's command, which also has GRAPH_CONFIG (absolute path of the graph configuration file) in its environment
   */
  server: z.enum(['own', 'supplied']),
  supplied: z
    .object({
      /**
       * npm specs or pip requirements: installed in a folder (or layer) of its own, which has nothing of the tree in it, so that
       * deployments share it. Its `bin` comes in PATH behind the tree's own. Python: the tree's own packages come before
       * those of the server, in the paths of both
       */
      packages: z.array(z.string()).min(1),
    })
    .nullable(),
  /** the version of the language that the graph configuration file asks for (`node_version`, `python_version`); null: any */
  version: z.string().nullable(),
  /** in this order; all of them before `build` */
  install: z.array(step),
  start,
}

const dockerfile = z.object({
  kind: z.literal('dockerfile'),
  server: z.literal('own'),
  ...common,
  /** the Dockerfile, which is built as it is */
  dockerfile: path,
  /** the folder that the engine gets as its context: that of the graph configuration file */
  context: path,
})

const node = z.object({
  kind: z.literal('node'),
  ...program,
  /** what installs: where it is not npm, corepack can bring it */
  manager: z.enum(['npm', 'pnpm', 'yarn']),
  /** a line for `sh -c`: the build_command of the revision; null: nothing is built */
  build: z.object({ folder: path, command: z.string() }).nullable(),
})

const python = z.object({
  kind: z.literal('python'),
  ...program,
  /** what installs into the virtual environment */
  manager: z.enum(['uv', 'pip']),
  /** folders whose modules a supplied server has to find: for PYTHONPATH, absolute, in front. Empty when the server is its own */
  importable: z.array(path),
})

export const buildPlan = z.discriminatedUnion('kind', [dockerfile, node, python])

export type BuildPlan = z.output<typeof buildPlan>
export type DockerfilePlan = z.output<typeof dockerfile>
export type NodePlan = z.output<typeof node>
export type PythonPlan = z.output<typeof python>
export type InstallStep = z.output<typeof step>
export type Start = z.output<typeof start>
