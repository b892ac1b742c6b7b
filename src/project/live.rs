//! An index that stays open while it is built again.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::Project;
use crate::access::Policy;
use crate::error::{Error, Result};
use crate::format::Pace;
use crate::index::{Index, OPEN_POLICY};
use crate::search::{Request, Retriever as _, Searcher};

/// Askers whose scopes are made before a new generation is served; the first search of any other makes
/// its own.
const ASKERS_WARMED: usize = 64;

/// What a new generation is asked before it is served, so that what the first search of an index opens
/// is open.
const FIRST_QUESTION: &str = "what is this about";

/// The priority of a thread that may wait for all others: `nice` 19.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

/// A project and its index as they were opened together: what one request is answered from.
#[derive(Debug)]
pub struct Opened {
    /// Settings, policy and askers.
    pub project: Project,
    /// The index.
    pub index: Arc<Index>,
    /// Searches it with the project's settings.
    pub searcher: Searcher,
}

/// A project for a process that answers for longer than one build lasts.
///
/// Every request takes [`current`](Self::current) once and keeps it: it is answered from one generation
/// under one policy, whatever is built meanwhile. [`refresh`](Self::refresh) looks whether there is
/// something newer. A new generation is opened, read whole and checked, and asked a first question
/// before it is served, by whoever calls `refresh`: no search waits for it, and none meets a damaged
/// file. The old one is let go when its last request is done, by `refresh` as well. [`Live::follow`]
/// does all this on a thread of its own.
///
/// Settings and askers are read again by each `refresh`. When the policy has changed and no build has
/// followed yet, `current` is an error: what was resolved under the old policy answers nobody.
pub struct Live {
    find: Box<dyn Fn() -> Result<Project> + Send + Sync>,
    served: RwLock<Served>,
    /// What `CURRENT` said of the generation that is served; held while refreshing.
    mark: Mutex<Option<String>>,
    /// What was served before and may still be in use.
    retired: Mutex<Vec<Arc<Opened>>>,
}

/// What requests get.
struct Served {
    opened: Arc<Opened>,
    /// Whether the policy is another by now.
    closed: bool,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Live").finish_non_exhaustive()
    }
}

impl Live {
    /// Opens the project that `find` finds, which must have an index. `find` is called again by every
    /// refresh; it is mostly [`Project::find`] with the same arguments.
    pub fn open(find: impl Fn() -> Result<Project> + Send + Sync + 'static) -> Result<Self> {
        let project = find()?;
        let mark = project.store().mark();
        let index = Arc::new(project.open_index()?);
        let opened = Arc::new(Opened::new(project, index)?);
        opened.warm(&Pace::full())?;
        Ok(Self {
            find: Box::new(find),
            served: RwLock::new(Served { opened, closed: false }),
            mark: Mutex::new(mark),
            retired: Mutex::new(Vec::new()),
        })
    }

    /// What is served now. Costs a counter; never waits for a build or for a generation being opened.
    pub fn current(&self) -> Result<Arc<Opened>> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        if served.closed {
            let problem = "the policy has changed since it was built";
            let help = "run `atlas build` to build it again";
            return Err(Error::unusable(&served.opened.project.index, problem, help));
        }
        Ok(Arc::clone(&served.opened))
    }

    /// Looks for a newer generation, settings, policy and askers, and serves them from here on. Gives
    /// the number of the generation when it is another.
    ///
    /// # Errors
    ///
    /// The project cannot be read, or the new generation cannot be opened or is damaged. What was served
    /// before is served on, unless the policy has changed.
    pub fn refresh(&self) -> Result<Option<u64>> {
        let mut mark = locked(&self.mark);
        let project = (self.find)()?;
        let policy = project.policy.as_ref().map_or(OPEN_POLICY, Policy::hash).to_owned();
        let (before, was_closed) = self.served();
        let closed = before.index.manifest().policy != policy;
        let now = project.store().mark();
        if now.is_none() || now == *mark {
            // The same generation; the settings of a search, or who has which role, may be others.
            if closed && !was_closed {
                self.serve(before, true);
            } else if !closed && (was_closed || before.project != project) {
                let index = Arc::clone(&before.index);
                self.serve(Arc::new(Opened::new(project, index)?), false);
            }
            self.let_go();
            return Ok(None);
        }
        // Whether the new generation can be opened or not: the old one answers nobody under this policy.
        if closed && !was_closed {
            self.serve(Arc::clone(&before), true);
        }
        drop(before);
        let index = Arc::new(project.open_index()?);
        let opened = Opened::new(project, index)?;
        opened.warm(&Pace::gentle())?;
        let number = opened.index.manifest().generation;
        self.serve(Arc::new(opened), false);
        *mark = now;
        self.let_go();
        Ok(Some(number))
    }

    /// Refreshes on a thread of its own, `every` so often, until the follower is dropped. `heard` is told
    /// of every new generation and of every failure.
    pub fn follow(
        self: &Arc<Self>,
        every: Duration,
        heard: impl Fn(Result<u64>) + Send + 'static,
    ) -> Result<Follower> {
        let (stop, stopped) = channel::<()>();
        let live = Arc::clone(self);
        let work = move || {
            step_back();
            while matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
                if let Some(news) = live.refresh().transpose() {
                    heard(news);
                }
            }
        };
        let thread = Builder::new().name("atlas-follow".to_owned()).spawn(work);
        let folder = self.served().0.project.index.clone();
        let thread = thread.map_err(|e| Error::io("starting a thread for", folder, e))?;
        Ok(Follower { stop: Some(stop), thread: Some(thread) })
    }

    fn served(&self) -> (Arc<Opened>, bool) {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&served.opened), served.closed)
    }

    fn serve(&self, opened: Arc<Opened>, closed: bool) {
        let next = Served { opened, closed };
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *served, next);
        drop(served);
        locked(&self.retired).push(before.opened);
    }

    /// Drops what nobody uses any more: unmapping an index takes time, and no request shall pay for it.
    fn let_go(&self) {
        let (served, _) = self.served();
        let mut retired = locked(&self.retired);
        retired.retain(|old| !Arc::ptr_eq(old, &served) && Arc::strong_count(old) > 1);
    }
}

/// Lets every other thread go first, where the system can do that for one thread alone.
fn step_back() {
    // On Linux the priority of "this process" is that of the calling thread. Being refused changes nothing
    // but how often a search waits.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LOWEST_PRIORITY);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Opened {
    fn new(project: Project, index: Arc<Index>) -> Result<Self> {
        let searcher = Searcher::new(Arc::clone(&index), project.file.search.clone())?;
        Ok(Self { project, index, searcher })
    }

    /// Reads and checks every byte, and asks a first question for each asker.
    fn warm(&self, pace: &Pace) -> Result<()> {
        self.index.sound(pace)?;
        let askers = self.project.askers.iter().take(ASKERS_WARMED).map(Some);
        for asker in askers.chain([None]) {
            let scope = self.index.scope(asker)?;
            self.searcher.retrieve(&Request::new(FIRST_QUESTION, scope))?;
        }
        Ok(())
    }
}

/// Stops following when it is dropped, after the refresh at hand.
#[derive(Debug)]
pub struct Follower {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
