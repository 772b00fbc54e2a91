(** Rows of a table that follow a plan.

    A plan is what cells should do, with true carries, digits and remainders in place of codes: from a state, what is
    seen and what the row before means, it gives the next state, the symbol to be written (None: it is not read) and what
    the next row is told (None: nothing that anyone hears). It gives None where nothing can come to pass.

    An invariant is a list of pairs (code heard along the row, state of the plan) and a list of pairs (code heard from
    the row before, its meaning). [wrong] looks at all situations that can follow from these pairs, and lists those in
    which the table does not do what the plan says, or leads out of the invariant. The theorem [row_follows]: if it lists
    none, then every row of cells, of any length, does what the plan does.

    How the invariant is found does not matter for the theorem: it is only checked. *)

From Coq Require Import FMapPositive.
From Digitwise Require Export Cells.

Section Plan.
  (** States S, meanings T of what rows tell the next row. *)
  Context {S T : Type} (S_eq : forall a b : S, {a = b} + {a <> b}) (T_eq : forall a b : T, {a = b} + {a <> b}).
  Variable S_key : S -> N.

  Record doing := Do { next : S; writes : option ascii; tells : option T }.

  Variable plan : S -> place T -> option doing.

  Fixpoint planned (s : S) (places : list (place T)) : option (list doing) :=
    match places with
    | [] => Some []
    | p :: places =>
        match plan s p with
        | None => None
        | Some d => option_map (cons d) (planned (next d) places)
        end
    end.

  (** All that can stand at a place and be seen there by a plan in state s, and the states of rows at their start. *)
  Variable shapes : S -> list (ascii * list ascii).
  Hypothesis shapes_are_all : forall s p d, plan s p = Some d -> In (stands p, sees p) (shapes s).
  Variable starts : list S.

  Definition linked : Type := option N * S.
  Definition meaning : Type := N * T.

  (** All situations that can follow from a pair, with what the plan does there. *)
  Definition one_move (m : linked) (shape : ascii * list ascii) (h : option meaning) : list (situation * doing) :=
    match plan (snd m) (Place (fst shape) (snd shape) (option_map snd h)) with
    | None => []
    | Some d => [(Situation (fst shape) (snd shape) (fst m) (option_map fst h), d)]
    end.

  Definition moves (rows : list meaning) (m : linked) : list (situation * doing) :=
    flat_map (fun shape => flat_map (one_move m shape) (None :: map Some rows)) (shapes (snd m)).

  Definition pair_eq (a b : linked) : {a = b} + {a <> b}.
  Proof. decide equality. repeat decide equality. Defined.

  Definition meaning_eq (a b : meaning) : {a = b} + {a <> b}.
  Proof. decide equality. apply N.eq_dec. Defined.

  Definition pair_key (m : linked) : positive := N.succ_pos (mix (S_key (snd m)) (number_of_code (fst m))).

  Definition tells_right (rows : list meaning) (a : said) (t : option T) : bool :=
    match t, to_row a with
    | None, _ => true
    | Some t, Some n => if in_dec meaning_eq (n, t) rows then true else false
    | Some _, None => false
    end.

  Definition writes_right (a : said) (c : option ascii) : bool :=
    match c with None => true | Some c => Ascii.eqb (symbol a) c end.

  Definition right (f : situation -> option said) pairs rows (m : situation * doing) : bool :=
    match f (fst m) with
    | None => false
    | Some a => writes_right a (writes (snd m)) && tells_right rows a (tells (snd m)) && among pair_key pair_eq pairs (to_next a, next (snd m))
    end.

  (** * Finding an invariant *)

  (** What the table does in one step, where it writes the right symbol: after others it is not followed, so that the
      search ends soon for tables that are wrong. Pairs that follow, and meanings of what is told. *)
  Definition acts (f : situation -> option said) rows (m : linked) : list (said * doing) :=
    flat_map (fun x => match f (fst x) with
      | Some a => if writes_right a (writes (snd x)) then [(a, snd x)] else []
      | None => []
      end) (moves rows m).

  Definition followers f rows (m : linked) : list linked :=
    map (fun x => (to_next (fst x), next (snd x))) (acts f rows m).

  Definition meanings f rows (m : linked) : list meaning :=
    flat_map (fun x => match to_row (fst x), tells (snd x) with
      | Some n, Some t => [(n, t)]
      | _, _ => []
      end) (acts f rows m).

  Definition begin : list linked := map (fun s => (None, s)) starts.

  Fixpoint settle f (fuel : nat) (rows : list meaning) : list linked * list meaning :=
    let pairs := closure pair_key pair_eq (followers f rows) begin in
    let more := nodup meaning_eq (rows ++ flat_map (fun m => nodup meaning_eq (meanings f rows m)) pairs) in
    match fuel with
    | Datatypes.S fuel => if Nat.eqb (length more) (length rows) then (pairs, rows) else settle f fuel more
    | O => (pairs, rows)
    end.

  Definition invariant (t : table) : list linked * list meaning :=
    let (pairs, rows) := settle (find_cell (index line_key t)) 100 [] in (begin ++ pairs, rows).

  (** * The check *)

  Definition wrong_in (t : table) (pairs : list linked) (rows : list meaning) : list situation :=
    let b := index pair_key pairs in
    let f := find_cell (index line_key t) in
    flat_map (fun m => map fst (filter (fun x => negb (right f b rows x)) (moves rows m))) pairs.

  (** Situations in which the table fails. *)
  Definition wrong (t : table) : list situation := let (pairs, rows) := invariant t in wrong_in t pairs rows.

  (** * Its meaning *)

  Definition starts_in (pairs : list linked) : Prop := forall s, In s starts -> In (None, s) pairs.

  Lemma found (t : table) : wrong t = [] -> exists pairs rows, wrong_in t pairs rows = [] /\ starts_in pairs.
  Proof.
    unfold wrong, invariant. destruct (settle _ _ _) as [pairs rows]. intros H.
    exists (begin ++ pairs), rows. split; [exact H|]. intros s HS. apply in_or_app. left.
    apply (in_map (fun s => (None, s)) _ _ HS).
  Qed.

  Section Sound.
    Variables (t : table) (pairs : list linked) (rows : list meaning).
    Hypothesis nothing_wrong : wrong_in t pairs rows = [].
    Hypothesis start : starts_in pairs.

    (** A code means what it should. *)
    Definition means (n : option N) (m : option T) : Prop :=
      match n, m with
      | None, None => True
      | Some n, Some m => In (n, m) rows
      | _, _ => False
      end.

    Definition like (p : place N) (q : place T) : Prop :=
      stands p = stands q /\ sees p = sees q /\ means (hears p) (hears q).

    Definition does (a : said) (d : doing) : Prop :=
      (forall c, writes d = Some c -> symbol a = c) /\ (forall m, tells d = Some m -> means (to_row a) (Some m)).

    Lemma in_moves heard s p q d :
      like p q -> plan s q = Some d ->
      In (Situation (stands p) (sees p) heard (hears p), d) (moves rows (heard, s)).
    Proof.
      intros (E1 & E2 & M) H. unfold moves. apply in_flat_map. exists (stands q, sees q).
      split; [eapply shapes_are_all; exact H|]. apply in_flat_map.
      destruct q as [c w h]. cbn [stands sees hears] in *.
      exists (match hears p, h with Some n, Some m => Some (n, m) | _, _ => None end).
      unfold one_move. cbn [fst snd]. rewrite E1, E2.
      destruct (hears p) as [n|], h as [m|]; try easy; cbn [option_map fst snd]; rewrite H; split; try (left; reflexivity).
      right. now apply in_map.
    Qed.

    Lemma one_step heard s p q d :
      In (heard, s) pairs -> like p q -> plan s q = Some d ->
      exists a, cell t (Situation (stands p) (sees p) heard (hears p)) = Some a /\ does a d /\ In (to_next a, next d) pairs.
    Proof.
      intros HR L H. pose proof (in_moves heard s p q d L H) as HM.
      assert (right (find_cell (index line_key t)) (index pair_key pairs) rows
        (Situation (stands p) (sees p) heard (hears p), d) = true) as G.
      { destruct (right _ _ _ _) eqn:E; [reflexivity|exfalso].
        assert (In (Situation (stands p) (sees p) heard (hears p)) (wrong_in t pairs rows)) as W.
        { unfold wrong_in. apply in_flat_map. eexists; split; [exact HR|].
          apply (in_map fst _ (Situation (stands p) (sees p) heard (hears p), d)). apply filter_In. split; [exact HM|].
          now rewrite E. }
        rewrite nothing_wrong in W. easy. }
      unfold right in G. cbn [fst snd] in G. rewrite find_cell_is_cell in G.
      destruct (cell t _) as [a|]; [|easy]. exists a. split; [reflexivity|].
      apply andb_prop in G as [G1 G2]. apply andb_prop in G1 as [G0 G1]. split; [split|].
      - intros c E. rewrite E in G0. now apply Ascii.eqb_eq.
      - intros m E. rewrite E in G1. unfold tells_right in G1. cbn.
        destruct (to_row a); [|easy]. now destruct (in_dec _ _ _) in G1.
      - now apply among_index in G2.
    Qed.

    (** Every row of the table does what the plan does. *)
    Theorem row_follows_from places : forall plans, Forall2 like places plans ->
      forall heard s ds, In (heard, s) pairs -> planned s plans = Some ds ->
      exists r, row (cell t) heard places = Some r /\ Forall2 does r ds.
    Proof.
      induction 1 as [|p q places plans L _ IH]; intros heard s ds HR H; cbn in H.
      - injection H as <-. exists []. split; [reflexivity|constructor].
      - destruct (plan s q) as [d|] eqn:E; [|easy].
        destruct (planned (next d) plans) as [ds'|] eqn:E'; [|easy]. injection H as <-.
        destruct (one_step heard s p q d HR L E) as (a & C & D & HR').
        destruct (IH _ _ _ HR' E') as (r & R & F).
        exists (a :: r). cbn. rewrite C, R. split; [reflexivity|now constructor].
    Qed.

    Theorem row_follows places plans s ds :
      In s starts -> Forall2 like places plans -> planned s plans = Some ds ->
      exists r, row (cell t) None places = Some r /\ Forall2 does r ds.
    Proof. intros H L E. eapply row_follows_from; eauto. Qed.

    (** What it writes is what the plan writes. *)
    Lemma does_written r ds w : Forall2 does r ds -> map writes ds = map Some w -> written r = w.
    Proof.
      intros F. revert w. induction F as [|a d r ds [W _] F IH]; intros [|c w] E; try easy.
      cbn in *. injection E as E1 E2. f_equal; auto.
    Qed.

    (** What it tells the next row means what the plan tells. *)
    Lemma does_told r ds w : Forall2 does r ds -> map tells ds = map Some w -> Forall2 means (map to_row r) (map Some w).
    Proof.
      intros F. revert w. induction F as [|a d r ds [_ W] F IH]; intros [|m w] E; try easy; [constructor|].
      cbn [map] in *. injection E as E1 E2. constructor; auto.
    Qed.
  End Sound.
End Plan.

(** Comparing statements, Coq should not run the search for an invariant. *)
Global Strategy 1000 [wrong invariant settle closure reach].

Arguments Do {S T}.
Arguments next {S T}.
Arguments writes {S T}.
Arguments tells {S T}.

(** For plans of one row: nothing is told, so nothing is meant. *)
Definition no_meaning (a b : Empty_set) : {a = b} + {a <> b} := match a with end.
